// Devices of several resources for one container or pod, so that they lie close together: rules/devices#closeness.
// Nothing of it happens where the node's option is off.
#ifndef BERTH_ALLOCATOR_DEVICE_MANAGER_CLOSE_PLAN_H_
#define BERTH_ALLOCATOR_DEVICE_MANAGER_CLOSE_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "allocator/allocation_state/pod_books.h"
#include "allocator/demand/demand.h"
#include "allocator/topology_manager/aligner.h"
#include "model/placement.h"

namespace berth::allocator {

/// Which devices to take first.
struct ClosePlan {
  std::map<std::string, std::vector<std::size_t>, std::less<>> first;  ///< resource -> positions in its pool
  std::int64_t closeness = 0;                                          ///< CloseChoice::closeness
  bool exact = true;  ///< false: there were too many to be compared, and nothing is said

  /// nullptr: this resource's own order stands.
  const std::vector<std::size_t>* Of(std::string_view resource) const;
};

/// Empty where the option is off. `reuse`: what init containers left is taken first.
ClosePlan PlanClose(PodBooks& books, const std::vector<DeviceNeed>& needs, const MaskHint& hint, bool reuse);

/// Of the sets of nodes that are as good as a preferred `merged.hint` but for their numbers, takes the one whose
/// devices lie closest together; the lowest of equal ones.
void PreferCloseNodes(PodBooks& books, const std::vector<DeviceNeed>& needs, bool reuse,
                      const std::vector<HintList>& lists, Merged& merged);

/// CPUs that are local to every device of these placements of which the kernel names some; {}: none are, or the option
/// is off.
CpuSet CpusNearDevices(PodBooks& books, const std::vector<const Placement*>& placements);

/// Where a container's devices sit: "g0, n0 below 0000:3a:00.0 of pci0000:3a". "" for fewer than two.
std::string ClosenessText(PodBooks& books, const Placement& placement);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_DEVICE_MANAGER_CLOSE_PLAN_H_
