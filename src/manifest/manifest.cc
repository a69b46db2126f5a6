#include "manifest/manifest.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fnv128.h"
#include "base/text.h"
#include "manifest/document_reader.h"
#include "manifest/field_check.h"
#include "manifest/field_reader.h"
#include "manifest/made_names.h"
#include "manifest/pod_reader.h"
#include "manifest/pod_validation.h"
#include "manifest/pod_wishes_check.h"
#include "manifest/resource_validation.h"
#include "manifest/storage.h"
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
        names_(options.origin.empty() ? Fnv128(text) : options.origin),
        storage_(options.node_name) {}

  /// PersistentVolumes and claims of other texts, in which they are reported on.
  void ReadStorageBeside() {
    Budget budget = Budget::For(options_.storage);
    VisitDocuments(options_.storage, budget, [&](const Document& document) {
      const Node* kind = Find(document.root, "kind");
      Report ignored;
      if (kind != nullptr && storage_.size() < kMostConfigDocuments)
        AddStorage(kind->text, document.root, Path{}, ignored);
      return true;
    });
  }

  /// False: nothing more is to be read.
  bool Read(const Document& document) {
    where_ = PlaceOf(document.number);
    const std::size_t before = problems_.size();
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
    if (problems_.size() > before) wrong_.insert(document.number);
    from_.pods.resize(out_.pods.size(), document.number);
    from_.documents.resize(out_.documents.size(), document.number);
    from_.made.resize(out_.made.size(), document.number);
    return !ended_;
  }

  void AddProblem(const std::string& text) { problems_.push_back(file_ + ": " + text); }

  /// The same pod twice in one file: which one counts would be an accident.
  void CheckIdentities() {
    std::map<std::string, int> names;
    std::map<std::string, int> uids;
    for (std::size_t i = 0; i < out_.pods.size(); ++i) {
      const Pod& pod = out_.pods[i];
      const int at = from_.pods[i];
      if (!pod.name.empty())
        CheckOnce(names, FullName(pod), at, "pod \"" + Printable(FullName(pod)) + "\" is given more than once",
                  "rename or remove all but one");
      if (!pod.uid.empty())
        CheckOnce(uids, pod.uid, at, "uid \"" + Printable(pod.uid) + "\" is given to more than one pod",
                  "remove it from all but one");
    }
    std::map<std::string, int> documents;
    for (std::size_t i = 0; i < out_.documents.size(); ++i)
      if (const std::string name = NameOf(out_.documents[i]); !out_.documents[i].name.empty())
        CheckOnce(documents, name, from_.documents[i], Printable(name) + " is given more than once",
                  "rename or remove all but one");
  }

  /// Claims that pods mount become the paths of their volumes.
  void ResolveClaims() {
    storage_.Bind();
    std::vector<Unanswered> unanswered;
    for (const ClaimUse& use : uses_) {
      Pod& pod = out_.pods[use.pod];
      const Storage::Answer answer = storage_.Find(use.claim);
      if (answer.volume == nullptr)
        Note(use, answer, unanswered);
      else if (!IsTaken(use, answer))
        MountVolume(use, *answer.volume, pod);
    }
    for (const Unanswered& one : unanswered) {
      if (problems_.size() > kMaxErrors) return End("and more from here on");
      std::string text = one.why;
      if (one.claims.size() > 1)
        text = std::to_string(one.claims.size()) + " claims need a PersistentVolume each (" +
               Printable(Join({one.claims.begin(), one.claims.end()}, ", "), 400) + "): " + text;
      Refuse(one.where, text, one.documents);
    }
  }

  Reading Finish() && {
    KeepRight(out_.pods, from_.pods);
    KeepRight(out_.documents, from_.documents);
    KeepRight(out_.made, from_.made);
    return {.found = std::move(out_), .problems = std::move(problems_)};
  }

 private:
  /// For each pod, document and line of what was made the number of the document it is of.
  struct Origins {
    std::vector<int> pods;
    std::vector<int> documents;
    std::vector<int> made;
  };

  /// Takes out what is of documents with problems.
  template <class T>
  void KeepRight(std::vector<T>& list, const std::vector<int>& from) const {
    if (wrong_.empty()) return;
    std::vector<T> right;
    for (std::size_t i = 0; i < list.size(); ++i)
      if (!wrong_.contains(from[i])) right.push_back(std::move(list[i]));
    list = std::move(right);
  }

  /// `seen`: names, with the documents they were found in.
  void CheckOnce(std::map<std::string, int>& seen, const std::string& name, int document, const std::string& what,
                 const std::string& cure) {
    const auto [first, added] = seen.try_emplace(name, document);
    if (added) return;
    problems_.push_back(PlaceOf(document) + ": " + what + ", first in document " + std::to_string(first->second) +
                        "; " + cure);
    wrong_.insert(document);
  }

  /// A volume persistentVolumeClaim of a pod that was read.
  struct ClaimUse {
    std::size_t pod = 0;
    std::size_t volume = 0;
    std::string claim;  ///< "namespace/name"
    bool read_only = false;
    std::string where;  ///< with file and document
  };
  /// Claims without a volume, of one place in the text.
  struct Unanswered {
    std::string where;
    std::string why;  ///< of the first one
    std::set<std::string> claims;
    std::set<int> documents;  ///< of the pods that mount them
  };

  void Note(const ClaimUse& use, const Storage::Answer& answer, std::vector<Unanswered>& out) {
    ++out_.unanswered_claims;
    const bool made = answer.claim != nullptr && !answer.claim->of_template.empty();
    const std::string& where = made ? answer.claim->of_template : use.where;
    auto at = std::ranges::find(out, where, &Unanswered::where);
    if (at == out.end()) at = out.insert(out.end(), {.where = where, .why = answer.why, .claims = {}, .documents = {}});
    at->claims.insert(use.claim);
    at->documents.insert(from_.pods[use.pod]);
  }

  /// Nobody refuses what is only looked at.
  void Refuse(const std::string& where, const std::string& why, const std::set<int>& documents) {
    if (options_.run_by == RunBy::kNobody) return;
    if (options_.refuse_unsupported)
      Forbid(where, why, documents);
    else if (out_.warnings.size() < kMostWarnings)
      out_.warnings.push_back({.where = where, .message = "not carried out: " + why});
  }

  void Forbid(const std::string& where, const std::string& why, const std::set<int>& documents) {
    problems_.push_back(where + ": Forbidden: " + why);
    wrong_.insert(documents.begin(), documents.end());
  }

  /// A claim ReadWriteOncePod is for one pod, of the text and of the node.
  bool IsTaken(const ClaimUse& use, const Storage::Answer& answer) {
    if (answer.claim->access_modes.front() != "ReadWriteOncePod") return false;
    const std::string pod = FullName(out_.pods[use.pod]);
    const std::string& path = answer.volume->volume.host_path;
    const auto [first, added] = sole_users_.try_emplace(use.claim, pod);
    const std::string other = options_.other_user ? options_.other_user(out_.pods[use.pod], path) : "";
    const bool in_text = !added && first->second != pod;
    if (!in_text && other.empty()) return false;
    const std::string why =
        "claim " + Printable(use.claim, 320) + " is ReadWriteOncePod, and pod " +
        (in_text ? Printable(first->second, 320) + " mounts it: "
                 : Printable(other, 320) + " of this node has its volume " + Printable(path) + ": delete that pod, ") +
        "give pod " + Printable(pod, 320) + " a claim of its own, or make it ReadWriteOnce";
    if (in_text)
      Refuse(use.where, why, {from_.pods[use.pod]});
    else
      Forbid(use.where, why, {from_.pods[use.pod]});  // whatever unsupportedFields says: it is supported
    return true;
  }

  void MountVolume(const ClaimUse& use, const PersistentVolume& found, Pod& pod) {
    Volume& volume = pod.volumes[use.volume];
    const std::string name = volume.name;
    volume = found.volume;
    volume.name = name;
    for (auto* containers : {&pod.containers, &pod.init_containers})
      for (Container& container : *containers)
        for (VolumeMount& mount : container.mounts)
          if (use.read_only && mount.name == name) mount.read_only = true;
    if (found.source == "local" && pod.security.fs_group && options_.run_by != RunBy::kNobody &&
        out_.warnings.size() < kMostWarnings)
      out_.warnings.push_back({.where = use.where,
                               .message = "the files of PersistentVolume " + Printable(found.name, 253) +
                                          " keep their group: fsGroup has no effect on them; give them theirs on the "
                                          "host (chgrp)"});
  }

  /// The claims that a pod mounts, to be answered when all of the text is read.
  void NoteClaims(const Node& pod, const Path& path, const std::string& namespace_, Report& report) {
    const Node* in_spec = Find(pod, "spec");
    const Node* volumes = in_spec == nullptr ? nullptr : Find(*in_spec, "volumes");
    if (volumes == nullptr || volumes->kind != Node::Kind::kList) return;
    const Path spec{.parent = &path, .key = "spec"};
    const Path list{.parent = &spec, .key = "volumes"};
    for (std::size_t i = 0; i < volumes->items.size(); ++i) {
      const Node* source = Find(volumes->items[i], "persistentVolumeClaim");
      if (source == nullptr || source->kind != Node::Kind::kMap) continue;
      const Path item{.parent = &list, .key = {}, .index = static_cast<int>(i)};
      const Path at{.parent = &item, .key = "persistentVolumeClaim"};
      Object object(*source, at, report);
      std::string name;
      ClaimUse use{.pod = out_.pods.size(), .volume = i, .claim = {}, .where = where_ + ": " + at.ToString()};
      object.Read("claimName", name);
      object.Read("readOnly", use.read_only);
      object.Finish();
      use.claim = namespace_ + "/" + name;
      out_.mounts_claims = true;
      uses_.push_back(std::move(use));
    }
  }

  /// Of a document that can be read: PersistentVolume, PersistentVolumeClaim.
  void AddStorage(std::string_view kind, const Node& node, const Path& path, Report& report) {
    if (kind == "PersistentVolume") storage_.AddVolume(node, path, report);
    if (kind == "PersistentVolumeClaim") storage_.AddClaim(node, path, /*of_template=*/"", report);
  }

  std::string PlaceOf(int document) const { return file_ + ": document " + std::to_string(document); }

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
    if (kind == "CronJob")
      return start + "starts pods by the clock, and nothing does that here; let cron run 'berth apply' with a Pod";
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
    std::string kind;
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
    CheckApiVersion(object, /*may_be_left_out=*/false);
    if (!list) return Add(kind, root, top, report);
    ReadList(object, kind.substr(0, kind.size() - 4), report);
  }

  /// Of the kinds of core/v1 that are read.
  static void CheckApiVersion(Object& object, bool may_be_left_out) {
    std::string given;
    object.Read("apiVersion", given);
    if (given == "v1" || (given.empty() && may_be_left_out)) return;
    object.report().Problem(object.PathOf("apiVersion"), given.empty() ? "Required value: write \"apiVersion: v1\""
                                                                       : UnsupportedValue(given, {"v1"}));
  }

  static bool IsStorage(std::string_view kind) { return kind == "PersistentVolume" || kind == "PersistentVolumeClaim"; }
  static bool IsOneOfOurs(std::string_view kind) {
    return kind == "Pod" || kind == "ConfigMap" || kind == "Secret" || IsStorage(kind);
  }

  void Add(std::string_view kind, const Node& given, const Path& path, Report& report) {
    const std::optional<Node> named = names_.Named(given, path, report);
    if (named) Spend(CostOf(*named));
    const Node& node = named ? *named : given;
    if (named) TellName(node, path);
    if (IsWorkload(kind)) return AddTemplate(kind, node, path, report);
    if (kind == "Pod") return AddPod(node, path, report);
    if (IsStorage(kind)) {
      if (!HasRoom(storage_.size(), kMostConfigDocuments, "PersistentVolumes and claim")) return;
      Node kept = node;
      SetEntry(kept, "apiVersion", StringNode("v1"));  // an item of a list need not say them
      SetEntry(kept, "kind", StringNode(std::string(kind)));
      out_.storage += JsonOf(kept) + "\n";
      return AddStorage(kind, node, path, report);
    }
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

  /// `of`: the kind of items that do not say it, nor their apiVersion; "": each has to say both.
  void ReadList(Object& object, const std::string& of, Report& report) {
    constexpr std::string_view kListUnused[] = {"metadata"};
    object.Each("items", [&](const Node& item, const Path& path) {
      const Node* said = item.kind == Node::Kind::kMap ? Find(item, "kind") : nullptr;
      const std::string kind = said != nullptr ? said->text : of;
      if (kind.empty())
        return report.Problem(Path{.parent = &path, .key = "kind"}, "Required value: write \"kind: Pod\"");
      if (options_.templates && IsWorkload(kind)) return Add(kind, item, path, report);
      if (!IsOneOfOurs(kind)) return report.Warn(Path{.parent = &path, .key = "kind"}, LeftOut(kind));
      if (item.kind == Node::Kind::kMap) {
        Object versioned(item, path, report);
        CheckApiVersion(versioned, /*may_be_left_out=*/!of.empty());
      }
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
    const auto take = [&](const Node& pod) {
      Report others;
      Spend(CostOf(pod));
      AddPod(pod, where, std::exchange(first, false) ? report : others);
      for (Report::Entry& entry : others.problems) report.problems.push_back(std::move(entry));
      for (std::size_t i = before; i < report.problems.size(); ++i)
        if (report.problems[i].path == Below(where, "metadata.name"))
          report.problems[i].path = Below(path, "metadata.name");
      return !ended_ && report.problems.size() == before;
    };
    const auto keep = [&](const Node& claim, const Path& at) {
      Report others;
      Spend(CostOf(claim));
      if (HasRoom(storage_.size(), kMostConfigDocuments, "PersistentVolumes and claim"))
        storage_.AddClaim(claim, at, where_ + ": " + at.ToString(), first ? report : others);
    };
    const std::string made = MakePodsOfTemplate(kind, node, path, options_, report, take, keep);
    if (!made.empty() && report.problems.size() == before) Tell(spec.ToString(), made);
  }

  void AddPod(const Node& node, const Path& path, Report& report) {
    if (!HasRoom(out_.pods.size(), options_.most_pods, "pod")) return;
    Pod pod = ReadPod(node, path, report);
    NoteClaims(node, path, pod.namespace_, report);
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
      WarnOfNode(pod, path, report);
    }
    out_.pods.push_back(std::move(pod));
  }

  static std::string Below(const Path& path, const std::string& field) {
    const std::string above = path.ToString();
    return above.empty() ? field : above + "." + field;
  }

  /// A pod stays where its manifest is read.
  void WarnOfNode(const Pod& pod, const Path& root, Report& report) const {
    if (options_.node_name.empty() || pod.node_name.empty() || pod.node_name == options_.node_name) return;
    const Path spec{.parent = &root, .key = "spec"};
    report.Warn(Path{.parent = &spec, .key = "nodeName"}, "no effect: the pod runs on this node, \"" +
                                                              options_.node_name + "\"; give the manifest to \"" +
                                                              Printable(pod.node_name, 253) + "\" to run it there");
  }

  /// Why the network does not do what an annotation asks of it; "": it does, or is not asked.
  std::string WhyNotByNetwork(const std::string& annotation, const Pod& pod) const {
    const bool networks =
        annotation == "k8s.v1.cni.cncf.io/networks" || annotation == "v1.multus-cni.io/default-network";
    const bool bandwidth =
        annotation == "kubernetes.io/egress-bandwidth" || annotation == "kubernetes.io/ingress-bandwidth";
    if (!networks && !bandwidth) return "";
    if (options_.run_by == RunBy::kProcess) return "a plain process is in the host's network";
    if (pod.host_network) return "the pod is in the host's network";
    if (networks ? options_.cni_reads_annotations : options_.cni_limits_bandwidth) return "";
    return std::string("no CNI plug-in of the container runtime has the capability ") +
           (networks ? "io.kubernetes.cri.pod-annotations" : "bandwidth") + ", by which it would be told of it";
  }

  /// Those that old clusters read, and that are fields now; and those that ask something of the network.
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
      if (const std::string why = WhyNotByNetwork(name, pod); !why.empty()) report.Warn(where, "no effect: " + why);
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
  Origins from_;
  std::vector<std::string> problems_;
  std::set<int> wrong_;  // numbers of documents with problems
  Storage storage_;
  std::vector<ClaimUse> uses_;
  std::map<std::string, std::string> sole_users_;  // claim ReadWriteOncePod -> the first pod that mounts it
};

}  // namespace

Reading ReadManifest(std::string_view text, std::string_view file, const PodOptions& options) {
  Budget budget = options.most_pods == PodOptions::kAnyNumber
                      ? Budget()
                      : Budget::For(text, options.templates ? Budget::kLeastForTemplates : Budget::kLeast);
  FileReader reader(Printable(file, 4096), text, options, budget);
  reader.ReadStorageBeside();
  const auto errors = VisitDocuments(text, budget, [&](const Document& document) { return reader.Read(document); });
  for (const std::string& error : errors) reader.AddProblem(error);
  reader.ResolveClaims();
  reader.CheckIdentities();
  return std::move(reader).Finish();
}

Result<ParsedPods> ParsePods(std::string_view text, std::string_view file, const PodOptions& options) {
  Reading read = ReadManifest(text, file, options);
  if (!read.problems.empty()) return Fail(Code::kInvalid, Join(read.problems, "\n"));
  return std::move(read.found);
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
