// Device plugin response in the kubelet's device checkpoint: a serialized ContainerAllocateResponse of the device
// plugin interface, v1beta1. Pure.
#ifndef BERTH_NODE_CHECKPOINT_ALLOC_RESPONSE_H_
#define BERTH_NODE_CHECKPOINT_ALLOC_RESPONSE_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/device.h"

namespace v1beta1 {
class ContainerAllocateResponse;
}

namespace berth::checkpoint {

/// Without the devices' nodes, which stand elsewhere in the checkpoint. The same bytes for the same answer.
std::string FormatAllocResponse(const DeviceAnswer& answer);
/// Fields nobody knows are left out. Errors: kCorrupt.
Result<DeviceAnswer> ParseAllocResponse(std::string_view bytes);

/// The value of a message that was read already. Without the devices' nodes.
DeviceAnswer AnswerOf(const v1beta1::ContainerAllocateResponse& message);

}  // namespace berth::checkpoint

#endif  // BERTH_NODE_CHECKPOINT_ALLOC_RESPONSE_H_
