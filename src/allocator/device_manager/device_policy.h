// Devices for containers: hints, choice, reuse: docs/rules/devices.md.
#ifndef BERTH_ALLOCATOR_DEVICE_MANAGER_DEVICE_POLICY_H_
#define BERTH_ALLOCATOR_DEVICE_MANAGER_DEVICE_POLICY_H_

#include <optional>
#include <vector>

#include "allocator/allocation_state/pod_books.h"
#include "allocator/demand/demand.h"
#include "allocator/device_manager/close_plan.h"
#include "allocator/reason/decision_log.h"
#include "allocator/topology_manager/hints.h"
#include "model/decision.h"

namespace berth::allocator {

/// Adds one list per resource that is a device resource here. `reuse`: devices left by init containers count (container
/// scope; the kubelet leaves them out in pod scope).
void AddDeviceHints(PodBooks& books, const std::vector<DeviceNeed>& needs, bool reuse, std::vector<HintList>& out);

/// Gives the container its devices, those of `close` before equally near ones, and puts them into `placement`. nullopt:
/// done (or nothing asked).
std::optional<Reject> AllocateDevices(PodBooks& books, const ContainerDemand& demand, const MaskHint& hint,
                                      const ClosePlan& close, Placement& placement, const DecisionLog& log);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_DEVICE_MANAGER_DEVICE_POLICY_H_
