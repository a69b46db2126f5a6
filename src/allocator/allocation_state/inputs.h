// Decision inputs beside the ledger: device inventory, and devices preferred by plug-ins (GetPreferredAllocation).
#ifndef BERTH_ALLOCATOR_ALLOCATION_STATE_INPUTS_H_
#define BERTH_ALLOCATOR_ALLOCATION_STATE_INPUTS_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "allocator/node/engine_node.h"
#include "base/result.h"
#include "model/device.h"

namespace berth::allocator {

/// Inputs of a decision that change from call to call, beside the ledger.
struct Inputs {
  DeviceInventory devices;
  /// GetPreferredAllocation's answers, when a plugin gave some: resource -> ids in the order to prefer.
  std::map<std::string, std::vector<std::string>, std::less<>> preferred_devices;
};

/// Refuses devices on NUMA nodes the machine does not have, without an id, or listed twice. Decide ignores such nodes.
/// Errors: kInvalid naming resource and device.
Result<void> CheckDevices(const Node& node, const DeviceInventory& devices);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_ALLOCATION_STATE_INPUTS_H_
