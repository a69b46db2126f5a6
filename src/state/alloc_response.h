// Device plugin response in the kubelet's device checkpoint: a serialized ContainerAllocateResponse of the device
// plugin interface, v1beta1. Pure.
#ifndef BERTH_STATE_ALLOC_RESPONSE_H_
#define BERTH_STATE_ALLOC_RESPONSE_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/device.h"

namespace berth::state {

/// Without the devices' nodes, which stand elsewhere in the checkpoint.
std::string FormatAllocResponse(const DeviceAnswer& answer);
/// Fields nobody knows are left out. Errors: kCorrupt, with what does not fit.
Result<DeviceAnswer> ParseAllocResponse(std::string_view bytes);

}  // namespace berth::state

#endif  // BERTH_STATE_ALLOC_RESPONSE_H_
