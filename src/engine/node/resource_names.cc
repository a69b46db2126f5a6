#include "engine/node/resource_names.h"

#include "base/quantity.h"

namespace berth::engine {

bool IsMemoryType(std::string_view name) { return name == "memory" || name.starts_with("hugepages-"); }

bool IsNativeResource(std::string_view name) {
  return name == "cpu" || name == "ephemeral-storage" || name == "pods" || IsMemoryType(name);
}

std::string HugePagesName(Bytes page_size) { return "hugepages-" + Quantity::FromBytes(page_size).ToString(); }

}  // namespace berth::engine
