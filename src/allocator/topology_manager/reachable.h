// The best set of nodes among all that AND-ing one hint of each list can give: docs/design/alignment.md.
#ifndef BERTH_ALLOCATOR_TOPOLOGY_MANAGER_REACHABLE_H_
#define BERTH_ALLOCATOR_TOPOLOGY_MANAGER_REACHABLE_H_

#include <vector>

#include "allocator/topology_manager/preferred.h"

namespace berth::allocator {

/// The best result that is not preferred; no mask if no combination of hints has a node in common.
Found BestReachable(const std::vector<HintList>& lists, const Mask& all, const Fitness& fitness);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_TOPOLOGY_MANAGER_REACHABLE_H_
