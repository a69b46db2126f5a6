#include "daemon/oom_score.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace berth::daemon {
namespace {

constexpr int kGuaranteedScore = -997;
constexpr int kBestEffortScore = 1000;

std::int64_t MemoryRequest(const ResourceList& list) {
  const auto it = list.find("memory");
  return it == list.end() ? 0 : it->second.Value();
}

/// What each container gets of the pod-level memory request that no container asked for.
std::int64_t ShareOfPodRequest(const Pod& pod) {
  if (!pod.resources || pod.resources->requests.empty()) return 0;
  Pod containers_only = pod;
  containers_only.resources.reset();
  containers_only.overhead.clear();
  const auto count = static_cast<std::int64_t>(pod.containers.size() + pod.init_containers.size());
  const std::int64_t rest = MemoryRequest(pod.resources->requests) - MemoryRequest(PodRequests(containers_only));
  return count == 0 ? 0 : std::max<std::int64_t>(0, rest) / count;
}

/// Static pods (all of Berth's) are critical; only this class changes the score.
bool NodeCritical(const Pod& pod) { return pod.priority_class == "system-node-critical"; }

}  // namespace

int OomScoreAdj(const Pod& pod, const Container& container, Bytes capacity) {
  const QosClass qos = QosOf(pod);
  if (NodeCritical(pod) || qos == QosClass::kGuaranteed) return kGuaranteedScore;
  if (qos == QosClass::kBestEffort) return kBestEffortScore;
  if (capacity.v <= 0) return kBestEffortScore - 1;
  const std::int64_t share = ShareOfPodRequest(pod);
  const auto score = [&](std::int64_t request) {
    __extension__ using Wide = __int128;  // 1000 * request may not fit 64 bits
    return 1000 - static_cast<std::int64_t>(Wide{1000} * (Wide{request} + share) / capacity.v);
  };
  std::int64_t out = score(MemoryRequest(container.resources.requests));
  if (container.restartable_init && !pod.containers.empty()) {
    std::int64_t smallest = std::numeric_limits<std::int64_t>::max();
    for (const Container& app : pod.containers) smallest = std::min(smallest, MemoryRequest(app.resources.requests));
    out = std::min(out, score(smallest));
  }
  if (out < 3) return 3;
  return static_cast<int>(std::min<std::int64_t>(out, kBestEffortScore - 1));
}

}  // namespace berth::daemon
