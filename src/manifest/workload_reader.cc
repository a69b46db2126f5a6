#include "manifest/workload_reader.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "manifest/names.h"

namespace berth::manifest {
namespace {

constexpr std::string_view kWorkloads[] = {
    "CronJob", "DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"};
// Fields of apps/v1, batch/v1 and core/v1 (1.36) that are known and not looked into.
constexpr std::string_view kWorkloadUnused[] = {"kind", "status"};
constexpr std::string_view kWorkloadMetadataUnused[] = {"annotations",
                                                        "creationTimestamp",
                                                        "deletionGracePeriodSeconds",
                                                        "deletionTimestamp",
                                                        "finalizers",
                                                        "generateName",
                                                        "generation",
                                                        "labels",
                                                        "managedFields",
                                                        "ownerReferences",
                                                        "resourceVersion",
                                                        "selfLink",
                                                        "uid"};
// Of a spec: what says nothing of the pods themselves, and what only a controller could carry out.
constexpr std::string_view kAboutNoPod[] = {"selector", "serviceName"};
constexpr std::string_view kControllersOnly[] = {"activeDeadlineSeconds",
                                                 "backoffLimit",
                                                 "backoffLimitPerIndex",
                                                 "managedBy",
                                                 "manualSelector",
                                                 "maxFailedIndexes",
                                                 "minReadySeconds",
                                                 "ordinals",
                                                 "paused",
                                                 "persistentVolumeClaimRetentionPolicy",
                                                 "podFailurePolicy",
                                                 "podManagementPolicy",
                                                 "podReplacementPolicy",
                                                 "progressDeadlineSeconds",
                                                 "revisionHistoryLimit",
                                                 "strategy",
                                                 "successPolicy",
                                                 "ttlSecondsAfterFinished",
                                                 "updateStrategy"};
constexpr std::int64_t kMostPodsOfOne = 1'000;

Node TextNode(std::string text) {
  return {.kind = Node::Kind::kString, .text = std::move(text), .keys = {}, .items = {}};
}

void Set(Node& map, const std::string& key, Node value) {
  const auto at = std::ranges::find(map.keys, key);
  if (at == map.keys.end()) {
    map.keys.push_back(key);
    map.items.push_back(std::move(value));
  } else {
    map.items[static_cast<std::size_t>(at - map.keys.begin())] = std::move(value);
  }
}

std::string_view ApiVersionOf(std::string_view kind) {
  if (kind == "Job") return "batch/v1";
  return kind == "ReplicationController" ? "v1" : "apps/v1";
}

class WorkloadReader {
 public:
  WorkloadReader(std::string_view kind, const Node& workload, const Path& path, Report& report)
      : kind_(kind), workload_(workload), path_(path), report_(report) {}

  void MakePods(const std::function<bool(const Node&)>& take,
                const std::function<void(const Node&, const Path&)>& claim) {
    if (kind_ == "CronJob") {
      report_.Problem(
          Path{.parent = &path_, .key = "kind"},
          "Unsupported value: \"CronJob\": nothing starts pods by the clock here; let cron run 'berth apply' "
          "with a Pod");
      return;
    }
    const std::size_t before = report_.problems.size();
    Object object(workload_, path_, report_);
    ReadApiVersion(object);
    object.Within("metadata", [&](Object& metadata) {
      metadata.Read("name", name_);
      metadata.Read("namespace", namespace_);
      metadata.Finish(kWorkloadMetadataUnused);
    });
    const Path metadata{.parent = &path_, .key = "metadata"};
    if (std::string wrong = CheckSubdomainName(name_); !wrong.empty())
      report_.Problem(Path{.parent = &metadata, .key = "name"}, std::move(wrong));
    std::int64_t count = 0;
    const bool has_spec = object.Within("spec", [&](Object& spec) { count = ReadSpec(spec); });
    if (!has_spec) report_.Problem(Path{.parent = &path_, .key = "spec"}, "Required value: give it a template");
    object.Finish(kWorkloadUnused);
    if (report_.problems.size() > before || template_ == nullptr) return;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string name = name_ + "-" + std::to_string(i);
      MakeClaims(name, claim);
      if (!take(OnePod(name))) return;
    }
  }

 private:
  /// An item of a list need not say it, as a pod.
  void ReadApiVersion(Object& object) {
    const std::string_view wanted = ApiVersionOf(kind_);
    std::string given;
    object.Read("apiVersion", given);
    if (given == wanted || (given.empty() && path_.parent != nullptr)) return;
    report_.Problem(object.PathOf("apiVersion"),
                    given.empty() ? "Required value: write \"apiVersion: " + std::string(wanted) + "\""
                                  : UnsupportedValue(given, {wanted}));
  }

  /// How many pods it says.
  std::int64_t ReadSpec(Object& spec) {
    template_ = spec.Take("template");
    if (template_ == nullptr || template_->kind != Node::Kind::kMap)
      report_.Problem(spec.PathOf("template"), "Required value: the pods' metadata and spec");
    if (kind_ == "StatefulSet") ReadClaims(spec);
    const Node* mode = spec.Take("completionMode");
    if (mode != nullptr && mode->text != "NonIndexed")
      report_.Problem(spec.PathOf("completionMode"),
                      "Forbidden: pods get no index; write them one by one, with what the index stands for");
    if (const Node* suspend = spec.Take("suspend"); suspend != nullptr && suspend->text == "true")
      report_.Problem(spec.PathOf("suspend"), "Forbidden: nothing would start its pods later; apply it then");
    const std::int64_t count = kind_ == "Job" ? ReadJob(spec) : kind_ == "DaemonSet" ? 1 : ReadReplicas(spec);
    if (count < 0 || count > kMostPodsOfOne) {
      report_.Problem(spec.path(), "Too many: " + std::to_string(count) + " pods, at most " +
                                       std::to_string(kMostPodsOfOne) + " may be");
      return 0;
    }
    FinishSpec(spec);
    TellMade(spec, count);
    return count;
  }

  static std::int64_t ReadReplicas(Object& spec) {
    std::int64_t out = 1;
    spec.Read("replicas", out);
    return out;
  }

  std::int64_t ReadJob(Object& spec) {
    std::optional<std::int64_t> completions;
    std::optional<std::int64_t> parallelism;
    spec.Read("completions", completions);
    spec.Read("parallelism", parallelism);
    const std::int64_t count = completions.value_or(parallelism.value_or(1));
    if (parallelism && *parallelism < count)
      report_.Warn(spec.PathOf("parallelism"),
                   "no effect: all " + std::to_string(count) + " pods run at once, as far as there is room for them");
    return count;
  }

  void ReadClaims(Object& spec) {
    spec.Each("volumeClaimTemplates", [&](const Node& node, const Path& path) {
      const Node* metadata = Find(node, "metadata");
      const Node* name = metadata == nullptr ? nullptr : Find(*metadata, "name");
      if (name == nullptr || !CheckLabelName(name->text).empty())
        report_.Problem(path, "Required value: metadata.name, which is a lowercase RFC 1123 label");
      else
        claims_.push_back({.name = name->text, .node = &node});
    });
  }

  void MakeClaims(const std::string& pod, const std::function<void(const Node&, const Path&)>& claim) const {
    const Path spec{.parent = &path_, .key = "spec"};
    const Path list{.parent = &spec, .key = "volumeClaimTemplates"};
    for (std::size_t i = 0; i < claims_.size(); ++i) {
      Node metadata = *Find(*claims_[i].node, "metadata");
      Set(metadata, "name", TextNode(claims_[i].name + "-" + pod));
      if (!namespace_.empty()) Set(metadata, "namespace", TextNode(namespace_));
      Node out = *claims_[i].node;
      Set(out, "metadata", std::move(metadata));
      claim(out, Path{.parent = &list, .key = {}, .index = static_cast<int>(i)});
    }
  }

  /// The pod mounts its claims by the names of their templates.
  void AddClaims(const std::string& pod, Node& out) const {
    const Node* given = Find(out, "spec");
    if (claims_.empty() || given == nullptr || given->kind != Node::Kind::kMap) return;
    Node spec = *given;
    Node volumes{.kind = Node::Kind::kList, .text = {}, .keys = {}, .items = {}};
    if (const Node* others = Find(spec, "volumes"); others != nullptr && others->kind == Node::Kind::kList)
      for (const Node& volume : others->items) {
        const Node* name = Find(volume, "name");
        const bool replaced =
            name != nullptr && std::ranges::find(claims_, name->text, &ClaimTemplate::name) != claims_.end();
        if (!replaced) volumes.items.push_back(volume);
      }
    for (const ClaimTemplate& one : claims_) {
      Node source{.kind = Node::Kind::kMap, .text = {}, .keys = {}, .items = {}};
      Set(source, "claimName", TextNode(one.name + "-" + pod));
      Node volume{.kind = Node::Kind::kMap, .text = {}, .keys = {}, .items = {}};
      Set(volume, "name", TextNode(one.name));
      Set(volume, "persistentVolumeClaim", std::move(source));
      volumes.items.push_back(std::move(volume));
    }
    Set(spec, "volumes", std::move(volumes));
    Set(out, "spec", std::move(spec));
  }

  static void FinishSpec(Object& spec) {
    std::vector<std::string_view> known(std::begin(kControllersOnly), std::end(kControllersOnly));
    known.insert(known.end(), std::begin(kAboutNoPod), std::end(kAboutNoPod));
    spec.Finish(known);
  }

  void TellMade(const Object& spec, std::int64_t count) {
    if (count == 0) return report_.Warn(spec.path(), "made no pods of its template: it says 0");
    std::string others;
    const Node* at = Find(workload_, "spec");
    for (const std::string& key : at->keys)
      if (std::ranges::find(kControllersOnly, key) != std::end(kControllersOnly))
        others += (others.empty() ? "" : ", ") + key;
    std::string text = "made " + std::to_string(count) + (count == 1 ? " pod" : " pods") + " of its template (" +
                       name_ + "-0" + (count > 1 ? " to " + name_ + "-" + std::to_string(count - 1) : "") +
                       "); no controller looks after them: they are changed by applying it again, and removed by "
                       "'berth delete'";
    if (!others.empty()) text += "; no effect: " + others;
    report_.Warn(spec.path(), std::move(text));
  }

  Node OnePod(const std::string& name) const {
    Node metadata{.kind = Node::Kind::kMap, .text = {}, .keys = {}, .items = {}};
    if (const Node* given = Find(*template_, "metadata"); given != nullptr && given->kind == Node::Kind::kMap)
      metadata = *given;
    Set(metadata, "name", TextNode(name));
    if (!namespace_.empty()) Set(metadata, "namespace", TextNode(namespace_));
    Node out = *template_;
    Set(out, "metadata", std::move(metadata));
    AddClaims(name, out);
    return out;
  }

  struct ClaimTemplate {
    std::string name;
    const Node* node = nullptr;
  };

  std::string_view kind_;
  const Node& workload_;
  const Path& path_;
  Report& report_;
  std::string name_;
  std::string namespace_;
  const Node* template_ = nullptr;
  std::vector<ClaimTemplate> claims_;  // of a StatefulSet
};

}  // namespace

bool IsWorkload(std::string_view kind) { return std::ranges::find(kWorkloads, kind) != std::end(kWorkloads); }

void MakePodsOfTemplate(std::string_view kind, const Node& workload, const Path& path, Report& report,
                        const std::function<bool(const Node&)>& take,
                        const std::function<void(const Node&, const Path&)>& claim) {
  WorkloadReader(kind, workload, path, report).MakePods(take, claim);
}

}  // namespace berth::manifest
