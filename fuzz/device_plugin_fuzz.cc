// What device plug-ins send: never more than the limits, and paths of answers are absolute.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plugin/messages.h"

using berth::NodeSet;
using berth::NumaId;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0:
      if (const auto read = berth::plugin::ReadRegistration(bytes))
        static_cast<void>(berth::plugin::CheckRegistration(*read));
      if (const auto read = berth::plugin::ReadPluginInfo(bytes))
        static_cast<void>(berth::plugin::CheckPluginInfo(*read));
      break;
    case 1: static_cast<void>(berth::plugin::ReadOptions(bytes)); break;
    case 2:
      if (const auto list = berth::plugin::ReadDeviceList(bytes, NodeSet{NumaId{0}, NumaId{1}}))
        for (const berth::Device& device : list->devices)
          if (device.id.empty() || device.nodes.Count() > 2) __builtin_trap();
      break;
    case 3:
      if (const auto answer = berth::plugin::ReadAllocation(bytes))
        for (const berth::DeviceNode& node : answer->device_nodes)
          if (!node.host_path.starts_with('/') || !node.container_path.starts_with('/')) __builtin_trap();
      break;
    default: static_cast<void>(berth::plugin::ReadPreference(bytes)); break;
  }
  return 0;
}
