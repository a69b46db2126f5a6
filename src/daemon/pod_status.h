// What the manager knows about pods, as the JSON of the local API (docs/reference/api.md).
#ifndef BERTH_DAEMON_POD_STATUS_H_
#define BERTH_DAEMON_POD_STATUS_H_

#include <string>

#include "codec/codec.h"
#include "daemon/events.h"
#include "daemon/pod_manager.h"

namespace berth::daemon {

/// "Pending", "Running", "Succeeded", "Failed".
std::string PhaseOf(const ManagedPod& managed);

codec::Json PodStatus(const PodManager& manager, const ManagedPod& managed);
/// PodStatus with trace and manifest.
codec::Json PodDetails(const PodManager& manager, const ManagedPod& managed);
codec::Json ToJson(const Event& event);
/// Object of a pod's events.
std::string EventObject(const Pod& pod);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_POD_STATUS_H_
