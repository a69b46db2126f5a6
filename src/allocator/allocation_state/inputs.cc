#include "allocator/allocation_state/inputs.h"

#include <algorithm>

#include "allocator/node/node_tables.h"

namespace berth::allocator {

Result<void> CheckDevices(const Node& node, const DeviceInventory& devices) {
  for (const auto& [resource, list] : devices) {
    std::vector<std::string> ids;
    for (const Device& device : list) {
      const std::string where = "device " + device.id + " of " + resource + ": ";
      if (device.id.empty()) return Fail(Code::kInvalid, "a device of " + resource + " has no id");
      if (!device.nodes.IsSubsetOf(node.tables().nodes.nodes()))
        return Fail(Code::kInvalid,
                    where + "NUMA node " + FormatIds(device.nodes - node.tables().nodes.nodes()) +
                        " does not exist on this machine (nodes: " + FormatIds(node.tables().nodes.nodes()) + ")");
      ids.push_back(device.id);
    }
    std::sort(ids.begin(), ids.end());
    if (const auto twice = std::adjacent_find(ids.begin(), ids.end()); twice != ids.end())
      return Fail(Code::kInvalid, "device " + *twice + " of " + resource + ": listed twice");
  }
  return {};
}

}  // namespace berth::allocator
