#include "manifest/workload_reader.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/name_validation.h"
#include "base/text.h"

namespace berth::manifest {
namespace {

// Fields of apps/v1, batch/v1 and core/v1 (1.36) that are known and not looked into.
constexpr std::string_view kWorkloadUnused[] = {"kind", "status"};
constexpr std::int64_t kMostPodsOfOne = 1'000;
constexpr std::string_view kIndexAnnotation = "batch.kubernetes.io/job-completion-index";
constexpr std::string_view kIndexVariable = "JOB_COMPLETION_INDEX";

struct WorkloadKind {
  std::string_view name;
  std::string_view api_version;
  std::string_view controllers;  ///< fields of its spec that only a controller could carry out, "a|b"
};
constexpr WorkloadKind kWorkloadKinds[] = {
    {"DaemonSet", "apps/v1", "minReadySeconds|revisionHistoryLimit|updateStrategy"},
    {"Deployment", "apps/v1", "minReadySeconds|paused|progressDeadlineSeconds|revisionHistoryLimit|strategy"},
    {"Job", "batch/v1",
     "activeDeadlineSeconds|backoffLimit|backoffLimitPerIndex|managedBy|manualSelector|maxFailedIndexes|"
     "podFailurePolicy|podReplacementPolicy|successPolicy|ttlSecondsAfterFinished"},
    {"ReplicaSet", "apps/v1", "minReadySeconds"},
    {"ReplicationController", "v1", "minReadySeconds"},
    {"StatefulSet", "apps/v1",
     "minReadySeconds|ordinals|persistentVolumeClaimRetentionPolicy|podManagementPolicy|revisionHistoryLimit|"
     "updateStrategy"}};

const WorkloadKind* WorkloadKindOf(std::string_view name) {
  const auto* const kind = std::ranges::find(kWorkloadKinds, name, &WorkloadKind::name);
  return kind == std::end(kWorkloadKinds) ? nullptr : kind;
}

/// What is at `key`, an empty one of that kind if there is nothing; nullptr: it is of another kind.
Node* Child(Node& map, std::string_view key, Node::Kind kind) {
  const Node* there = Find(map, key);
  if (there == nullptr || there->kind == Node::Kind::kNull)
    SetEntry(map, key, {.kind = kind, .text = {}, .keys = {}, .items = {}});
  else if (there->kind != kind)
    return nullptr;
  return &map.items[static_cast<std::size_t>(std::ranges::find(map.keys, key) - map.keys.begin())];
}

/// Gives the pod an entry of its labels or annotations.
void SetIn(Node& pod, std::string_view field, std::string_view key, const std::string& value) {
  Node* metadata = Child(pod, "metadata", Node::Kind::kMap);
  Node* map = metadata == nullptr ? nullptr : Child(*metadata, field, Node::Kind::kMap);
  if (map != nullptr) SetEntry(*map, key, StringNode(value));
}

/// A container that sets the variable itself keeps its value.
void AddVariable(Node& container, std::string_view name, const std::string& value) {
  if (container.kind != Node::Kind::kMap) return;
  Node* env = Child(container, "env", Node::Kind::kList);
  if (env == nullptr) return;
  const auto is_it = [&](const Node& item) {
    const Node* given = item.kind == Node::Kind::kMap ? Find(item, "name") : nullptr;
    return given != nullptr && given->text == name;
  };
  if (std::ranges::any_of(env->items, is_it)) return;
  Node variable{.kind = Node::Kind::kMap, .text = {}, .keys = {}, .items = {}};
  SetEntry(variable, "name", StringNode(std::string(name)));
  SetEntry(variable, "value", StringNode(value));
  env->items.push_back(std::move(variable));
}

class WorkloadReader {
 public:
  WorkloadReader(const WorkloadKind& kind, const Node& workload, const Path& path, const PodOptions& options,
                 Report& report)
      : kind_(kind), workload_(workload), path_(path), options_(options), report_(report) {}

  std::string MakePods(const std::function<bool(const Node&)>& take,
                       const std::function<void(const Node&, const Path&)>& claim) {
    const std::size_t before = report_.problems.size();
    Object object(workload_, path_, report_);
    ReadApiVersion(object);
    object.Within("metadata", [&](Object& metadata) {
      metadata.Read("name", name_);
      metadata.Read("namespace", namespace_);
      metadata.Finish(kObjectMetadataUnused);
    });
    const Path metadata{.parent = &path_, .key = "metadata"};
    if (std::string wrong = CheckSubdomainName(name_); !wrong.empty()) {
      report_.Problem(Path{.parent = &metadata, .key = "name"}, std::move(wrong));
      name_ = "unnamed";
    }
    std::int64_t count = 0;
    const bool has_spec = object.Within("spec", [&](Object& spec) { count = ReadSpec(spec); });
    if (!has_spec) report_.Problem(Path{.parent = &path_, .key = "spec"}, "Required value: give it a template");
    object.Finish(kWorkloadUnused);
    if (template_ == nullptr || template_->kind != Node::Kind::kMap) return "";
    if (report_.problems.size() > before) count = 1;  // for what is wrong with the template, told with the rest
    for (std::int64_t i = 0; i < count; ++i) {
      MakeClaims(NameOfPod(i), claim);
      if (!take(OnePod(i))) return "";
    }
    return Made(count);
  }

 private:
  void ReadApiVersion(Object& object) {
    const std::string_view wanted = kind_.api_version;
    std::string given;
    object.Read("apiVersion", given);
    if (given == wanted) return;
    report_.Problem(object.PathOf("apiVersion"),
                    given.empty() ? "Required value: write \"apiVersion: " + std::string(wanted) + "\""
                                  : UnsupportedValue(given, {wanted}));
  }

  /// How many pods it says.
  std::int64_t ReadSpec(Object& spec) {
    template_ = spec.Take("template");
    if (template_ == nullptr || template_->kind != Node::Kind::kMap)
      report_.Problem(spec.PathOf("template"), "Required value: the pods' metadata and spec");
    const std::int64_t count = ReadCount(spec);
    if (count > kMostPodsOfOne) {
      report_.Problem(spec.path(), "Too many: " + std::to_string(count) + " pods, at most " +
                                       std::to_string(kMostPodsOfOne) + " may be");
      return 0;
    }
    spec.Take("selector");
    spec.Finish(Split(kind_.controllers, '|'));
    return count;
  }

  std::int64_t ReadCount(Object& spec) {
    if (kind_.name == "Job") return ReadJob(spec);
    if (kind_.name == "DaemonSet") return 1;
    if (kind_.name == "StatefulSet") ReadStatefulSet(spec);
    return ReadReplicas(spec);
  }

  void ReadStatefulSet(Object& spec) {
    ReadClaims(spec);
    spec.Read("serviceName", service_);
    if (service_.empty() || options_.run_by == RunBy::kNobody) return;
    report_.Warn(spec.PathOf("serviceName"),
                 options_.run_by == RunBy::kCri
                     ? "there are no services: it is the pods' subdomain, and nobody else can look their names up"
                     : "no effect: there are no services, so nobody can look the pods' names up");
  }

  /// nullopt: it does not say.
  static std::optional<std::int64_t> ReadNumber(Object& spec, std::string_view key) {
    std::optional<std::int64_t> out;
    spec.Read(key, out);
    if (out && *out < 0) spec.report().Problem(spec.PathOf(key), "Invalid value: must be 0 or more");
    return out;
  }

  static std::int64_t ReadReplicas(Object& spec) { return ReadNumber(spec, "replicas").value_or(1); }

  std::int64_t ReadJob(Object& spec) {
    const std::optional<std::int64_t> completions = ReadNumber(spec, "completions");
    const std::optional<std::int64_t> parallelism = ReadNumber(spec, "parallelism");
    std::string mode;
    ReadWord(spec, "completionMode", {"Indexed", "NonIndexed"}, mode);
    indexed_ = mode == "Indexed";
    if (indexed_ && !completions)
      report_.Problem(spec.PathOf("completions"),
                      "Required value: how many indexes there are (completionMode Indexed)");
    spec.Read("suspend", suspended_);
    if (suspended_) return 0;
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
      Node out = *claims_[i].node;
      Node& metadata = *Child(out, "metadata", Node::Kind::kMap);
      SetEntry(metadata, "name", StringNode(claims_[i].name + "-" + pod));
      if (!namespace_.empty()) SetEntry(metadata, "namespace", StringNode(namespace_));
      claim(out, Path{.parent = &list, .key = {}, .index = static_cast<int>(i)});
    }
  }

  /// The pod mounts its claims by the names of their templates.
  void AddClaims(const std::string& pod, Node& spec) const {
    Node* volumes = claims_.empty() ? nullptr : Child(spec, "volumes", Node::Kind::kList);
    if (volumes == nullptr) return;
    std::erase_if(volumes->items, [&](const Node& volume) {
      const Node* name = Find(volume, "name");
      return name != nullptr && std::ranges::find(claims_, name->text, &ClaimTemplate::name) != claims_.end();
    });
    for (const ClaimTemplate& one : claims_) {
      Node source{.kind = Node::Kind::kMap, .text = {}, .keys = {}, .items = {}};
      SetEntry(source, "claimName", StringNode(one.name + "-" + pod));
      Node volume{.kind = Node::Kind::kMap, .text = {}, .keys = {}, .items = {}};
      SetEntry(volume, "name", StringNode(one.name));
      SetEntry(volume, "persistentVolumeClaim", std::move(source));
      volumes->items.push_back(std::move(volume));
    }
  }

  std::string NameOfPod(std::int64_t number) const { return name_ + "-" + std::to_string(number); }

  std::string Made(std::int64_t count) const {
    const std::string start = options_.dry_run ? "would make " : "made ";
    if (suspended_)
      return start + "no pods of its template: it says suspend: true; take that out and apply it again to run them";
    if (count == 0) return start + "no pods of its template: it says 0";
    std::string others;
    const std::vector<std::string_view> controllers = Split(kind_.controllers, '|');
    for (const std::string& key : Find(workload_, "spec")->keys)
      if (std::ranges::find(controllers, key) != controllers.end()) others += (others.empty() ? "" : ", ") + key;
    std::string text = start + std::to_string(count) + (count == 1 ? " pod" : " pods") + " of its template (" + name_ +
                       "-0" + (count > 1 ? " to " + name_ + "-" + std::to_string(count - 1) : "") +
                       "); no controller looks after them: they are changed by applying it again, and removed by "
                       "'berth delete'";
    if (!others.empty()) text += "; no effect: " + others;
    return text;
  }

  Node OnePod(std::int64_t number) const {
    const std::string index = std::to_string(number);
    const std::string name = NameOfPod(number);
    Node out = *template_;
    if (const Node* given = Find(out, "metadata"); given == nullptr || given->kind != Node::Kind::kMap)
      SetEntry(out, "metadata", {.kind = Node::Kind::kMap, .text = {}, .keys = {}, .items = {}});
    Node& metadata = *Child(out, "metadata", Node::Kind::kMap);
    SetEntry(metadata, "name", StringNode(name));
    if (!namespace_.empty()) SetEntry(metadata, "namespace", StringNode(namespace_));
    if (indexed_) GiveIndex(out, index);
    if (kind_.name == "StatefulSet") SetIn(out, "labels", "apps.kubernetes.io/pod-index", index);
    Node* spec = Child(out, "spec", Node::Kind::kMap);
    if (spec != nullptr) AddClaims(name, *spec);
    const bool named = indexed_ || kind_.name == "StatefulSet";
    if (!named || spec == nullptr || options_.run_by != RunBy::kCri) return out;  // a process has the host's name
    if (CheckLabelName(name).empty()) SetEntry(*spec, "hostname", StringNode(name));
    if (!service_.empty()) SetEntry(*spec, "subdomain", StringNode(service_));
    return out;
  }

  /// What the pods of an indexed Job know their index by.
  static void GiveIndex(Node& pod, const std::string& index) {
    SetIn(pod, "annotations", kIndexAnnotation, index);
    SetIn(pod, "labels", kIndexAnnotation, index);
    Node* spec = Child(pod, "spec", Node::Kind::kMap);
    if (spec == nullptr) return;
    for (const std::string_view list : {"initContainers", "containers"})
      if (Find(*spec, list) != nullptr)
        if (Node* containers = Child(*spec, list, Node::Kind::kList); containers != nullptr)
          for (Node& container : containers->items) AddVariable(container, kIndexVariable, index);
  }

  struct ClaimTemplate {
    std::string name;
    const Node* node = nullptr;
  };

  const WorkloadKind& kind_;
  const Node& workload_;
  const Path& path_;
  const PodOptions& options_;
  Report& report_;
  std::string name_;
  std::string namespace_;
  std::string service_;     // of a StatefulSet
  bool indexed_ = false;    // of a Job
  bool suspended_ = false;  // likewise
  const Node* template_ = nullptr;
  std::vector<ClaimTemplate> claims_;  // of a StatefulSet
};

}  // namespace

bool IsWorkload(std::string_view kind) { return WorkloadKindOf(kind) != nullptr; }

std::string MakePodsOfTemplate(std::string_view kind, const Node& workload, const Path& path, const PodOptions& options,
                               Report& report, const std::function<bool(const Node&)>& take,
                               const std::function<void(const Node&, const Path&)>& claim) {
  return WorkloadReader(*WorkloadKindOf(kind), workload, path, options, report).MakePods(take, claim);
}

}  // namespace berth::manifest
