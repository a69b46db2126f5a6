// Devices that a kubelet is asked for: what waits for its answer, and for how long.
#ifndef BERTH_FRONTEND_NRI_AGENT_AWAITED_DEVICES_H_
#define BERTH_FRONTEND_NRI_AGENT_AWAITED_DEVICES_H_

#include <optional>
#include <string>

#include "frontend/nri_agent/device_reports.h"
#include "frontend/nri_agent/nri_session.h"
#include "frontend/nri_agent/tracked_containers.h"
#include "frontend/nri_agent/waiting_calls.h"
#include "host/os/clock.h"
#include "model/pod_devices.h"
#include "node/core/node_core.h"
#include "rpc/nri/nri_values.h"

namespace berth::nri_agent {

/// Thread: the loop's only.
class AwaitedDevices {
 public:
  /// All outlive it.
  AwaitedDevices(core::Node& node, TrackedContainers& tracked, NriSession& session, DeviceSource source);

  /// A runtime has said what it has: that is decided on with the kubelet's answer, or when that has not come in time.
  /// Calls of an earlier connection are dropped.
  void OnSynchronize();
  /// Whether `call` is made later, as the container's devices are asked for. Requires: the container is tracked.
  bool Await(const nri::Pod& pod, const nri::Container& container, Call call);
  /// All pods that the runtime has are known: an answer that came before goes to them.
  void OnPodsKnown();
  /// All that waits goes on.
  void End() { calls_.RunAll(); }

  void Tick(os::MonoTime now);
  os::MonoTime next_due() const;
  /// As DeviceReports'; "" while Berth has stepped aside.
  std::string problem() const { return aside() ? "" : reports_.problem(); }

 private:
  bool aside() const { return session_.As<Aside>() != nullptr; }
  void AskForAll();
  void Take(const std::string& uid, std::optional<PodDevices> devices);
  void TakeAll(DevicesByPod all);

  core::Node& node_;
  TrackedContainers& tracked_;
  NriSession& session_;
  DeviceReports reports_;
  WaitingCalls calls_;
};

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_AWAITED_DEVICES_H_
