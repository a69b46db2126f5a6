// Devices that a kubelet has given to a container, as the engine's input: it places the container's CPUs and memory by
// them, and gives none away. Pure.
#ifndef BERTH_FRONTEND_NRI_AGENT_DEVICE_REQUESTS_H_
#define BERTH_FRONTEND_NRI_AGENT_DEVICE_REQUESTS_H_

#include <string_view>

#include "model/device.h"
#include "model/pod.h"
#include "model/trace.h"

namespace berth::nri_agent {

/// `container` of `pod` asks for as many devices of each resource as there are in `devices`. `trace`, unless null, says
/// which.
void RequestDevices(Pod& pod, std::string_view container, const DeviceInventory& devices, Trace* trace);

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_DEVICE_REQUESTS_H_
