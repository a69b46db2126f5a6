#include "manifest/manifest.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "base/text.h"
#include "manifest/field_check.h"
#include "manifest/object.h"
#include "manifest/pod_reader.h"
#include "manifest/pod_validation.h"

namespace berth::manifest {
namespace {

/// Pods and what was found wrong, over all documents of one file.
class FileReader {
 public:
  FileReader(std::string_view file, const PodOptions& options) : file_(file), options_(options) {}

  void Read(const Document& document) {
    where_ = file_ + ": document " + std::to_string(document.number);
    Report report;
    ReadTop(document.root, report);
    for (const std::string& path : document.duplicates)
      problems_.push_back(where_ + ": " + path + ": the key is given more than once; remove all but one");
    for (const Report::Entry& entry : report.problems) problems_.push_back(Line(entry));
    for (const Report::Entry& entry : report.warnings)
      out_.warnings.push_back({.where = where_ + ": " + entry.path, .message = entry.text});
  }

  void AddProblem(const std::string& text) { problems_.push_back(file_ + ": " + text); }

  /// No node holds that many, and a file is read as one.
  void CheckCount() {
    constexpr std::size_t kMostPods = 1'000;
    if (options_.to_be_run && out_.pods.size() > kMostPods)
      AddProblem(std::to_string(out_.pods.size()) + " pods in one file, at most " + std::to_string(kMostPods) +
                 " may be: make several files of it");
  }

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
  }

  Result<ParsedPods> Finish() && {
    if (!problems_.empty()) return Fail(Code::kInvalid, Join(problems_, "\n"));
    return std::move(out_);
  }

 private:
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
    constexpr std::string_view kWorkloads[] = {
        "CronJob", "DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"};
    const std::string start = "left out: a " + Printable(kind, 60) + " ";
    if (std::ranges::find(kWorkloads, kind) != std::end(kWorkloads))
      return start +
             "is a controller's business, and there is none: write its template as pods (apiVersion: v1, kind: " +
             "Pod, metadata with a name, spec as in spec.template.spec), as many as it has replicas";
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
    const bool readable = kind == "Pod" || kind == "PodList" || kind == "List";
    if (!readable && !MeansPods(kind)) return report.Warn(object.PathOf("kind"), LeftOut(kind));
    if (!readable)
      return report.Problem(object.PathOf("kind"),
                            "Unsupported value: \"" + kind + "\": Berth reads \"Pod\", \"PodList\" and \"List\"");
    if (api_version != "v1")
      report.Problem(object.PathOf("apiVersion"),
                     api_version.empty()
                         ? "Required value: write \"apiVersion: v1\""
                         : "Unsupported value: \"" + Printable(api_version, 60) + "\": supported values: \"v1\"");
    if (kind == "Pod") return AddPod(root, top, report);
    ReadList(object, kind == "List", report);
  }

  void ReadList(Object& object, bool any_kind, Report& report) {
    constexpr std::string_view kUnused[] = {"metadata"};
    object.Each("items", [&](const Node& item, const Path& path) {
      const Node* kind = item.kind == Node::Kind::kMap ? Find(item, "kind") : nullptr;
      if (kind != nullptr && kind->text != "Pod")
        return report.Warn(Path{.parent = &path, .key = "kind"}, LeftOut(kind->text));
      if (kind == nullptr && any_kind)
        return report.Problem(Path{.parent = &path, .key = "kind"}, "Required value: write \"kind: Pod\"");
      AddPod(item, path, report);
    });
    object.Finish(kUnused);
  }

  void AddPod(const Node& node, const Path& path, Report& report) {
    Pod pod = ReadPod(node, path, options_, report);
    const std::size_t misread = report.problems.size();
    ApplyDefaults(pod);
    WarnOfFractions(pod, path, report);
    Report found;
    CheckPod(pod, path, found);
    if (options_.to_be_run && options_.run_by == RunBy::kProcess) {
      CheckCommands(pod, path, found);
      CheckUsers(pod, path, found);
    }
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
    out_.pods.push_back(std::move(pod));
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
  std::string where_;
  ParsedPods out_;
  std::vector<std::string> problems_;
};

}  // namespace

Result<ParsedPods> ParsePods(std::string_view text, std::string_view file, const PodOptions& options) {
  FileReader reader(Printable(file, 4096), options);
  const Documents documents = ReadDocuments(text);
  for (const Document& document : documents.documents) reader.Read(document);
  for (const std::string& error : documents.errors) reader.AddProblem(error);
  reader.CheckCount();
  reader.CheckIdentities();
  return std::move(reader).Finish();
}

Result<Pod> ParsePodJson(std::string_view json, std::string_view where) {
  Result<Document> document = ReadJson(json);
  if (!document) return Wrap(std::move(document).error(), where);
  Report report;
  const Path top;
  Pod pod = ReadPod(document->root, top, PodOptions{.to_be_run = false}, report);
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
