#include "manifest/manifest.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/fnv128.h"
#include "base/text.h"
#include "manifest/document_reader.h"
#include "manifest/field_check.h"
#include "manifest/made_names.h"
#include "manifest/object.h"
#include "manifest/pod_reader.h"
#include "manifest/pod_validation.h"
#include "manifest/pod_wishes_check.h"
#include "manifest/resource_validation.h"
#include "manifest/volume_reader.h"
#include "manifest/workload_reader.h"

namespace berth::manifest {
namespace {

constexpr std::size_t kMostConfigDocuments = 1'000;
constexpr std::size_t kMostWarnings = 1'000;

/// Pods and what was found wrong, over all documents of one file.
class FileReader {
 public:
  /// `options` and `budget` outlive this.
  FileReader(std::string_view file, std::string_view text, const PodOptions& options, Budget& budget)
      : file_(file),
        options_(options),
        budget_(budget),
        names_(options.origin.empty() ? Fnv128(text) : options.origin) {}

  /// False: nothing more is to be read.
  bool Read(const Document& document) {
    where_ = file_ + ": document " + std::to_string(document.number);
    Report report;
    ReadTop(document.root, report);
    for (const std::string& path : document.duplicates)
      problems_.push_back(where_ + ": " + path + ": the key is given more than once; remove all but one");
    for (const Report::Entry& entry : report.problems) problems_.push_back(Line(entry));
    if (problems_.size() > kMaxErrors) End("and more from here on");
    for (const Report::Entry& entry : report.warnings) {
      if (out_.warnings.size() >= kMostWarnings) break;
      out_.warnings.push_back({.where = where_ + ": " + entry.path, .message = entry.text});
      if (out_.warnings.size() == kMostWarnings)
        out_.warnings.push_back({.where = where_, .message = "and more warnings from here on"});
    }
    return !ended_;
  }

  void AddProblem(const std::string& text) { problems_.push_back(file_ + ": " + text); }

  /// The same pod twice in one file: which one counts would be an accident.
  void CheckIdentities() {
    std::set<std::string> names;
    std::set<std::string_view> uids;
    for (const Pod& pod : out_.pods) {
      if (!pod.name.empty() && !names.insert(FullName(pod)).second)
        AddProblem("pod \"" + Printable(FullName(pod)) + "\" is given more than once; rename or remove all but one");
      if (!pod.uid.empty() && !uids.insert(pod.uid).second)
        AddProblem("uid \"" + Printable(pod.uid) + "\" is given to more than one pod; remove it from all but one");
    }
    std::set<std::string> documents;
    for (const ConfigDocument& document : out_.documents)
      if (!document.name.empty() && !documents.insert(NameOf(document)).second)
        AddProblem(Printable(NameOf(document)) + " is given more than once; rename or remove all but one");
  }

  Result<ParsedPods> Finish() && {
    if (!problems_.empty()) return Fail(Code::kInvalid, Join(problems_, "\n"));
    return std::move(out_);
  }

 private:
  /// Reads nothing more; the first reason counts.
  void End(const std::string& why) {
    if (!std::exchange(ended_, true)) AddProblem(why);
  }

  /// No node holds that many, and a file is read as one. False: there are `most` already.
  bool HasRoom(std::size_t count, std::size_t most, const std::string& what) {
    if (count >= most)
      End(most == 1 ? "holds more than one " + what + "; give exactly one"
                    : "more than " + std::to_string(most) + " " + what + "s in one file: make several files of it");
    return !ended_;
  }

  /// What is kept costs beside the tree it is read from.
  void Spend(std::size_t cost) {
    if (!budget_.Spend(cost)) End("the text " + std::string(kBudgetSpent));
  }

  std::string Line(const Report::Entry& entry) const {
    return where_ + ": " + (entry.path.empty() ? "" : entry.path + ": ") + entry.text;
  }

  /// "pod" is a slip of the pen, not another kind.
  static bool MeansPods(std::string_view kind) {
    constexpr std::string_view kMeant[] = {"pod", "podlist", "list"};
    const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
    return std::ranges::any_of(kMeant, [&](std::string_view meant) { return std::ranges::equal(kind, meant, same); });
  }

  /// Why nothing becomes of a document of another kind.
  static std::string LeftOut(const std::string& kind) {
    const std::string start = "left out: a " + Printable(kind, 60) + " ";
    if (IsWorkload(kind))
      return start +
             "is a controller's business, and there is none: 'berth apply --as-pods' makes as many pods of its "
             "template "
             "as it has replicas; or write them yourself (apiVersion: v1, kind: Pod, metadata with a name, spec as in "
             "spec.template.spec)";
    return start + "is no pod; Berth runs pods only";
  }

  void ReadTop(const Node& root, Report& report) {
    const Path top;
    if (root.kind != Node::Kind::kMap)
      return report.Problem(top, "expected a Pod, PodList or List, got " + std::string(Describe(root.kind)));
    Object object(root, top, report);
    std::string api_version;
    std::string kind;
    object.Read("apiVersion", api_version);
    object.Read("kind", kind);
    if (kind.empty()) return report.Problem(object.PathOf("kind"), "Required value: write \"kind: Pod\"");
    const bool list = kind.ends_with("List") && (kind == "List" || IsOneOfOurs(kind.substr(0, kind.size() - 4)));
    if (options_.templates && IsWorkload(kind)) return Add(kind, root, top, report);
    const bool readable = list || IsOneOfOurs(kind);
    if (!readable && !MeansPods(kind)) return report.Warn(object.PathOf("kind"), LeftOut(kind));
    if (!readable)
      return report.Problem(
          object.PathOf("kind"),
          "Unsupported value: \"" + kind + "\": Berth reads \"Pod\", \"ConfigMap\", \"Secret\" and lists of them");
    if (api_version != "v1")
      report.Problem(object.PathOf("apiVersion"),
                     api_version.empty()
                         ? "Required value: write \"apiVersion: v1\""
                         : "Unsupported value: \"" + Printable(api_version, 60) + "\": supported values: \"v1\"");
    if (!list) return Add(kind, root, top, report);
    ReadList(object, kind.substr(0, kind.size() - 4), report);
  }

  static bool IsOneOfOurs(std::string_view kind) { return kind == "Pod" || kind == "ConfigMap" || kind == "Secret"; }

  void Add(std::string_view kind, const Node& given, const Path& path, Report& report) {
    const std::optional<Node> named = names_.Named(given, path, report);
    if (named) Spend(CostOf(*named));
    const Node& node = named ? *named : given;
    if (named) TellName(node, path);
    if (IsWorkload(kind)) return AddTemplate(kind, node, path, report);
    if (kind == "Pod") return AddPod(node, path, report);
    if (!HasRoom(out_.documents.size(), kMostConfigDocuments, "ConfigMaps and Secret")) return;
    out_.documents.push_back(
        ReadConfigDocument(node, path, kind == "Secret" ? DocumentKind::kSecret : DocumentKind::kConfigMap, report));
  }

  void TellName(const Node& node, const Path& path) {
    const Path metadata{.parent = &path, .key = "metadata"};
    const Path where{.parent = &metadata, .key = "generateName"};
    const Node* name = Find(*Find(node, "metadata"), "name");
    Tell(where.ToString(), "is called \"" + name->text + "\" here, whenever " +
                               (options_.origin.empty() ? "this very text" : "this file") + " is applied");
  }

  void Tell(const std::string& path, std::string text) {
    if (out_.made.size() < kMostWarnings)
      out_.made.push_back({.where = where_ + (path.empty() ? "" : ": " + path), .message = std::move(text)});
  }

  /// `of`: the kind of items that do not say it; "": each has to.
  void ReadList(Object& object, const std::string& of, Report& report) {
    constexpr std::string_view kListUnused[] = {"metadata"};
    object.Each("items", [&](const Node& item, const Path& path) {
      const Node* said = item.kind == Node::Kind::kMap ? Find(item, "kind") : nullptr;
      const std::string kind = said != nullptr ? said->text : of;
      if (kind.empty())
        return report.Problem(Path{.parent = &path, .key = "kind"}, "Required value: write \"kind: Pod\"");
      if (options_.templates && IsWorkload(kind)) return Add(kind, item, path, report);
      if (!IsOneOfOurs(kind)) return report.Warn(Path{.parent = &path, .key = "kind"}, LeftOut(kind));
      Add(kind, item, path, report);
    });
    object.Finish(kListUnused);
  }

  /// What is said of one pod is said of all: only the first is reported on, unless it is fine and another is not. Its
  /// name is the workload's.
  void AddTemplate(std::string_view kind, const Node& node, const Path& path, Report& report) {
    const Path spec{.parent = &path, .key = "spec"};
    const Path where{.parent = &spec, .key = "template"};
    out_.has_templates = true;
    const std::size_t before = report.problems.size();  // with one of its own none is made
    bool first = true;
    const std::string made = MakePodsOfTemplate(kind, node, path, options_, report, [&](const Node& pod) {
      Report others;
      Spend(CostOf(pod));
      AddPod(pod, where, std::exchange(first, false) ? report : others);
      for (Report::Entry& entry : others.problems) report.problems.push_back(std::move(entry));
      for (std::size_t i = before; i < report.problems.size(); ++i)
        if (report.problems[i].path == Below(where, "metadata.name"))
          report.problems[i].path = Below(path, "metadata.name");
      return !ended_ && report.problems.size() == before;
    });
    if (!made.empty() && report.problems.size() == before) Tell(spec.ToString(), made);
  }

  void AddPod(const Node& node, const Path& path, Report& report) {
    if (!HasRoom(out_.pods.size(), options_.most_pods, "pod")) return;
    Pod pod = ReadPod(node, path, report);
    Spend(sizeof(Pod) + (pod.containers.size() + pod.init_containers.size()) * sizeof(Container));
    const std::size_t misread = report.problems.size();
    ApplyDefaults(pod);
    WarnOfFractions(pod, path, report);
    WarnOfUnknownWishes(pod, path, report);
    Report found;
    CheckPod(pod, path, found);
    CheckWishes(pod, path, found);
    if (options_.to_be_run && options_.run_by != RunBy::kNobody) CheckVolumes(pod, path, found);
    if (options_.to_be_run && options_.run_by == RunBy::kCri) CheckImages(pod, path, found);
    if (options_.to_be_run && options_.run_by == RunBy::kProcess) {
      CheckCommands(pod, path, found);
      CheckUsers(pod, path, found);
    }
    if (options_.on_node)
      for (FieldProblem& problem : options_.on_node(pod))
        found.ProblemAt(Below(path, problem.path), std::move(problem.text));
    // What could not be read is not judged a second time for being empty.
    for (Report::Entry& entry : found.problems) {
      const auto about_same = [&](const Report::Entry& earlier) {
        return earlier.path.starts_with(entry.path) || entry.path.starts_with(earlier.path);
      };
      if (std::none_of(report.problems.begin(), report.problems.begin() + static_cast<std::ptrdiff_t>(misread),
                       about_same))
        report.problems.push_back(std::move(entry));
    }
    CheckFields(node, path, options_, report);
    if (options_.run_by != RunBy::kNobody) {
      WarnOfStorage(pod, path, report);
      WarnOfAnnotations(pod, path, report);
    }
    out_.pods.push_back(std::move(pod));
  }

  static std::string Below(const Path& path, const std::string& field) {
    const std::string above = path.ToString();
    return above.empty() ? field : above + "." + field;
  }

  /// Those that old clusters read, and that are fields now; and those that ask for more networks.
  void WarnOfAnnotations(const Pod& pod, const Path& root, Report& report) const {
    constexpr std::pair<std::string_view, std::string_view> kFields[] = {
        {"container.apparmor.security.beta.kubernetes.io/", "appArmorProfile"},
        {"container.seccomp.security.alpha.kubernetes.io/", "seccompProfile"},
        {"seccomp.security.alpha.kubernetes.io/", "seccompProfile"}};
    const Path metadata{.parent = &root, .key = "metadata"};
    const Path annotations{.parent = &metadata, .key = "annotations"};
    for (const auto& [name, value] : pod.annotations) {
      const Path where{.parent = &annotations, .key = name, .index = -1, .entry = true};
      for (const auto& [start, field] : kFields)
        if (name.starts_with(start))
          report.Warn(where, "no effect: it is a field now; write securityContext." + std::string(field));
      if (name != "k8s.v1.cni.cncf.io/networks" && name != "v1.multus-cni.io/default-network") continue;
      if (options_.run_by == RunBy::kProcess)
        report.Warn(where, "no effect: a plain process is in the host's network");
      else if (pod.host_network)
        report.Warn(where, "no effect: the pod is in the host's network");
      else if (!options_.cni_reads_annotations)
        report.Warn(where,
                    "no effect: no CNI plug-in of the container runtime has the capability "
                    "io.kubernetes.cri.pod-annotations, by which it would be told of it");
    }
  }

  /// "memory: 100m" is a tenth of a byte and never what was meant.
  static void WarnOfFractions(const Pod& pod, const Path& root, Report& report) {
    const auto check = [&](const ResourceList& list, std::string_view what, const Container& c) {
      for (const auto& [name, amount] : list)
        if (name == "memory" && !amount.IsInteger())
          report.Warn(Path{.parent = &root, .key = "spec"}, "container \"" + Printable(c.name, 63) + "\": memory " +
                                                                std::string(what) + " of " + amount.ToString() +
                                                                " is a fraction of a byte; did you mean Mi?");
    };
    ForEachContainer(pod, [&](const Container& c, ContainerKind) {
      check(c.resources.requests, "request", c);
      check(c.resources.limits, "limit", c);
    });
  }

  std::string file_;
  const PodOptions& options_;
  Budget& budget_;
  MadeNames names_;
  bool ended_ = false;
  std::string where_;
  ParsedPods out_;
  std::vector<std::string> problems_;
};

}  // namespace

Result<ParsedPods> ParsePods(std::string_view text, std::string_view file, const PodOptions& options) {
  Budget budget = options.most_pods == PodOptions::kAnyNumber ? Budget() : Budget::For(text);
  FileReader reader(Printable(file, 4096), text, options, budget);
  const auto errors = VisitDocuments(text, budget, [&](const Document& document) { return reader.Read(document); });
  for (const std::string& error : errors) reader.AddProblem(error);
  reader.CheckIdentities();
  return std::move(reader).Finish();
}

Result<Pod> ParsePodJson(std::string_view json, std::string_view where) {
  Result<Document> document = ReadJson(json);
  if (!document) return Wrap(std::move(document).error(), where);
  Report report;
  const Path top;
  Pod pod = ReadPod(document->root, top, report);
  ApplyDefaults(pod);
  CheckRecordedPod(pod, top, report);
  for (const std::string& path : document->duplicates)
    report.problems.push_back({path, "the key is given more than once; remove all but one"});
  if (report.problems.empty()) return pod;
  std::vector<std::string> lines;
  for (const Report::Entry& entry : report.problems)
    lines.push_back(std::string(where) + ": " + entry.path + ": " + entry.text);
  return Fail(Code::kInvalid, Join(lines, "\n"));
}

std::vector<std::string> ValidatePod(const Pod& pod) {
  Report report;
  CheckPod(pod, Path{}, report);
  std::vector<std::string> out;
  for (const Report::Entry& entry : report.problems) out.push_back(entry.path + ": " + entry.text);
  return out;
}

}  // namespace berth::manifest
