// Departures of a kubelet's pods: found once nothing of theirs runs any more, and their places released then.
#ifndef BERTH_FRONTEND_NRI_AGENT_POD_DEPARTURES_H_
#define BERTH_FRONTEND_NRI_AGENT_POD_DEPARTURES_H_

#include <map>
#include <set>
#include <string>
#include <utility>

#include "frontend/nri_agent/tracked_containers.h"
#include "host/os/clock.h"
#include "node/core/node_core.h"
#include "rpc/nri/nri_values.h"

namespace berth::nri_agent {

/// Thread: the loop's only.
class PodDepartures {
 public:
  /// Both outlive it.
  PodDepartures(core::Node& node, TrackedContainers& tracked) : node_(node), tracked_(tracked) {}

  void OnSandboxGone(const nri::Pod& pod);
  void OnContainerEnded(const std::string& uid);
  /// The pod has no sandbox any more: it is released as soon as its groups are empty.
  void Begin(const std::string& uid);
  /// It is there again.
  void Cancel(const std::string& uid);
  /// Of all.
  void Cancel() { leaving_.clear(); }
  const std::set<std::string>& leaving() const { return leaving_; }  ///< uids
  /// No process is left in the groups below the pod's, whosever they are.
  bool HasLeft(const std::string& uid) const;
  /// Its place is free in the ledger: nothing more is known of it.
  void Forget(const std::string& uid);

  void Tick(os::MonoTime now);
  os::MonoTime next_due() const;

 private:
  void FindLost(os::MonoTime now);
  void CheckEnded(os::MonoTime now);
  void CheckLeaving(os::MonoTime now);
  bool HasLostAll(const std::string& uid, const TrackedPod& pod) const;
  void Release(const std::string& uid);

  core::Node& node_;
  TrackedContainers& tracked_;
  std::set<std::string> leaving_;
  /// Pods of which the last container has ended: when it is checked whether the sandbox has gone too, and the next
  /// wait.
  std::map<std::string, std::pair<os::MonoTime, os::Millis>> ended_;
  os::MonoTime next_search_{};  // for those that are lost
};

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_POD_DEPARTURES_H_
