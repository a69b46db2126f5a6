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
// What says nothing of the pods themselves, or is told with their number.
constexpr std::string_view kTakenUp[] = {"completions", "parallelism", "replicas",
                                         "selector",    "serviceName", "template"};
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
    object.Within("metadata", [&](Object& metadata) {
      metadata.Read("name", name_);
      metadata.Read("namespace", namespace_);
    });
    const Path metadata{.parent = &path_, .key = "metadata"};
    if (std::string wrong = CheckSubdomainName(name_); !wrong.empty())
      report_.Problem(Path{.parent = &metadata, .key = "name"}, std::move(wrong));
    std::int64_t count = 0;
    const bool has_spec = object.Within("spec", [&](Object& spec) { count = ReadSpec(spec); });
    if (!has_spec) report_.Problem(Path{.parent = &path_, .key = "spec"}, "Required value: give it a template");
    if (report_.problems.size() > before || template_ == nullptr) return;
    for (std::int64_t i = 0; i < count && take(OnePod(name_ + "-" + std::to_string(i))); ++i) {
    }
  }

 private:
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

  void TellMade(const Object& spec, std::int64_t count) {
    std::string others;
    const Node* at = Find(workload_, "spec");
    for (const std::string& key : at->keys)
      if (std::ranges::find(kTakenUp, key) == std::end(kTakenUp) && key != "completionMode" && key != "suspend")
        others += (others.empty() ? "" : ", ") + Printable(key, 40);
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
