// Names of resources the node itself has, told from those of devices.
#ifndef BERTH_ENGINE_NODE_RESOURCE_NAMES_H_
#define BERTH_ENGINE_NODE_RESOURCE_NAMES_H_

#include <string>
#include <string_view>

#include "base/units.h"

namespace berth::engine {

/// Resources that are never devices: cpu, memory, ephemeral-storage, hugepages-*, pods.
bool IsNativeResource(std::string_view name);
/// "memory" or "hugepages-*".
bool IsMemoryType(std::string_view name);
/// "hugepages-2Mi".
std::string HugePagesName(Bytes page_size);

}  // namespace berth::engine

#endif  // BERTH_ENGINE_NODE_RESOURCE_NAMES_H_
