#include "manifest/workload_reader.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

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

  void MakePods(const std::function<bool(const Node&)>& take) {
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
    for (std::int64_t i = 0; i < count && take(OnePod(name_ + "-" + std::to_string(i))); ++i) {
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
    Refuse(spec, "volumeClaimTemplates", "there are no claims; give the template a volume of type hostPath");
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

  void Refuse(Object& spec, std::string_view field, std::string_view why) {
    const Node* node = spec.Take(field);
    if (node != nullptr && !node->items.empty()) report_.Problem(spec.PathOf(field), "Forbidden: " + std::string(why));
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
    return out;
  }

  std::string_view kind_;
  const Node& workload_;
  const Path& path_;
  Report& report_;
  std::string name_;
  std::string namespace_;
  const Node* template_ = nullptr;
};

}  // namespace

bool IsWorkload(std::string_view kind) { return std::ranges::find(kWorkloads, kind) != std::end(kWorkloads); }

void MakePodsOfTemplate(std::string_view kind, const Node& workload, const Path& path, Report& report,
                        const std::function<bool(const Node&)>& take) {
  WorkloadReader(kind, workload, path, report).MakePods(take);
}

}  // namespace berth::manifest
