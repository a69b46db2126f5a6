// Pods of a kubelet and what is known of their sandboxes and containers, from what a runtime has said.
#ifndef BERTH_FRONTEND_NRI_AGENT_TRACKED_CONTAINERS_H_
#define BERTH_FRONTEND_NRI_AGENT_TRACKED_CONTAINERS_H_

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "host/os/clock.h"
#include "model/pod.h"
#include "rpc/nri/nri_values.h"

namespace berth::nri_agent {

/// The newest container of a name.
struct TrackedContainer {
  std::string id;
  int attempt = 0;
  bool ended = false;
  bool runs = false;           ///< it was started: its group is there
  bool placed = false;         ///< what it has was decided, by a berthd that still runs
  bool told = false;           ///< the runtime was told where it goes, and has not asked to start it yet
  bool asked_devices = false;  ///< its kubelet was asked for the pod's devices because of it: once is enough
};

struct TrackedPod {
  std::set<std::string> sandboxes;                     ///< ids of those that are there
  std::map<std::string, TrackedContainer> containers;  ///< by container name
  std::optional<os::MonoTime> leave_at;                ///< its last sandbox has gone: when its place is looked at next
  os::Millis leave_delay{0};
  bool unknown_told = false;  ///< annotations of it that look like Berth's own and are none
  bool unspecified = false;   ///< the API server has not told of it in time: it is known from the runtime
  enum class Devices { kUnknown, kAsked, kLate, kKnown };
  /// What its kubelet has given it. Unknown: not asked for, or asked for without an answer; late: not answered yet, and
  /// nobody waits any more.
  Devices devices = Devices::kUnknown;
  std::set<std::string> decided;  ///< containers that were decided on, and counted
};

/// Thread: one.
class TrackedContainers {
 public:
  using ByUid = std::map<std::string, TrackedPod>;

  TrackedPod& Know(const std::string& uid) { return pods_[uid]; }
  TrackedPod* Find(const std::string& uid);
  const ByUid& all() const { return pods_; }
  void Forget(const std::string& uid) { pods_.erase(uid); }
  /// One that was not made.
  void Forget(const std::string& uid, const nri::Container& container);

  /// A container is there, or asked for: the newest of its name from now on. Returns it.
  TrackedContainer& Know(const std::string& uid, const nri::Container& container, int attempt);
  /// The container with this id, if it is its name's newest; nullptr else.
  TrackedContainer* Find(const std::string& uid, const nri::Container& container);

 private:
  ByUid pods_;
};

/// Takes `container` into `pod`, for the first time or anew. Those of its pod that have ended before it was first asked
/// for are taken for init containers (rules/topology#one-at-a-time).
void TakeContainer(Pod& pod, Container container, const TrackedPod& known);

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_TRACKED_CONTAINERS_H_
