#include "host/cgroup/oom_score.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "model/resources.h"

namespace berth::cgroup {
namespace {

constexpr int kProtected = -997;
constexpr int kFirstToGo = 1000;

bool IsCritical(const Pod& pod) {
  const auto source = pod.annotations.find("kubernetes.io/config.source");
  const bool is_static = source != pod.annotations.end() && source->second != "api";
  return is_static || pod.annotations.contains("kubernetes.io/config.mirror") || pod.priority >= kCriticalPriority;
}

std::int64_t MemoryFromZero(const ResourceList& list) {
  return std::max<std::int64_t>(AmountOf(list, "memory").Value(), 0);
}

/// What the pod asks for beyond its containers, spread evenly over them.
std::int64_t ShareOf(const Pod& pod) {
  if (!pod.resources || !pod.resources->requests.contains("memory")) return 0;
  Pod containers_only = pod;
  containers_only.resources.reset();
  containers_only.overhead.clear();
  const std::int64_t rest = MemoryFromZero(pod.resources->requests) - MemoryFromZero(PodRequests(containers_only));
  const auto count = static_cast<std::int64_t>(pod.containers.size() + pod.init_containers.size());
  return count == 0 ? 0 : std::max<std::int64_t>(rest, 0) / count;
}

std::int64_t Score(std::int64_t request, std::int64_t share, Bytes capacity) {
  if (capacity.v <= 0) return kFirstToGo;
  // A request of the whole node or more scores lowest; below that, 1000 * request cannot overflow.
  if (request >= capacity.v || share >= capacity.v - request) return 0;
  if (capacity.v > std::numeric_limits<std::int64_t>::max() / 1000) return kFirstToGo;
  return kFirstToGo - 1000 * (request + share) / capacity.v;
}

}  // namespace

int OomScoreAdj(const Pod& pod, const Container& container, Bytes capacity) {
  if (IsCritical(pod) && pod.priority_class == "system-node-critical") return kProtected;
  const QosClass qos = QosOf(pod);
  if (qos == QosClass::kGuaranteed) return kProtected;
  if (qos == QosClass::kBestEffort) return kFirstToGo;

  const std::int64_t share = ShareOf(pod);
  std::int64_t score = Score(MemoryFromZero(container.resources.requests), share, capacity);
  if (container.restartable_init && !pod.containers.empty()) {
    // A sidecar goes no sooner than the app container that asks for least.
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for (const Container& app : pod.containers) least = std::min(least, MemoryFromZero(app.resources.requests));
    score = std::min(score, Score(least, share, capacity));
  }
  return static_cast<int>(std::clamp<std::int64_t>(score, 1000 + kProtected, kFirstToGo - 1));
}

}  // namespace berth::cgroup
