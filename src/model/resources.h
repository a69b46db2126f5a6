// Resources by name: which names mean memory, and amounts in a list of them. Pure.
#ifndef BERTH_MODEL_RESOURCES_H_
#define BERTH_MODEL_RESOURCES_H_

#include <optional>
#include <string>
#include <string_view>

#include "base/quantity.h"
#include "base/units.h"

namespace berth {

/// "hugepages-<size>".
bool IsHugePages(std::string_view resource);
/// Memory or huge pages: what lies on NUMA nodes.
bool IsMemoryType(std::string_view resource);
/// Never a device: cpu, memory, ephemeral-storage, huge pages, pods.
bool IsNativeResource(std::string_view resource);
/// What spec.resources of a pod may name: cpu, memory, huge pages.
bool CountsAtPodLevel(std::string_view resource);

/// "hugepages-2Mi".
std::string HugePagesName(Bytes page_size);
/// The text behind "hugepages-". Requires: IsHugePages(resource).
std::string_view PageSizeText(std::string_view resource);
/// The page size of "hugepages-2Mi"; nullopt for other names, and when it is no positive whole amount.
std::optional<Bytes> PageSizeOf(std::string_view resource);

/// 0 when the list has none.
Quantity AmountOf(const ResourceList& list, std::string_view resource);

}  // namespace berth

#endif  // BERTH_MODEL_RESOURCES_H_
