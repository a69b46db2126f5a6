// Input checks before hwloc reads a topology text: sizes that would cost gigabytes, formats it does not know.
#ifndef BERTH_HOST_MACHINE_HWLOC_TEXT_H_
#define BERTH_HOST_MACHINE_HWLOC_TEXT_H_

#include <cstdint>
#include <string_view>

namespace berth::machine {

/// Product of the counts of all levels ("pack:2 core:4 pu:2" has 16), kMaxId + 2 when it is larger than any machine
/// Berth knows: hwloc would build it whatever its size. Attributes in brackets do not count.
std::uint64_t CountThreadsOf(std::string_view synthetic);

/// hwloc makes bit masks as long as the largest index: an absurd one costs gigabytes.
bool HasAbsurdIndex(std::string_view xml);

/// The number before the dot in <topology version="3.0">; 0: none. Requires: there is a "<topology".
int MajorVersion(std::string_view xml);

}  // namespace berth::machine

#endif  // BERTH_HOST_MACHINE_HWLOC_TEXT_H_
