// Tie-break among equally good sets of NUMA nodes: preferred CPUs, the fullest, the emptiest, or the last:
// rules/own#order.
#ifndef BERTH_ALLOCATOR_ADMISSION_FILL_H_
#define BERTH_ALLOCATOR_ADMISSION_FILL_H_

#include <vector>

#include "allocator/allocation_state/pod_books.h"
#include "allocator/topology_manager/aligner.h"
#include "base/id_set.h"

namespace berth::allocator {

/// Of the sets that are as good as a preferred `merged.hint` but for their numbers, takes one that has `cpus` (those
/// that are asked beside `have`, which stay) of the narrowest of TiersOf, as TierOn says; then the one whose nodes have
/// the fewest (numa=pack) or most (numa=spread) CPUs to give; of equal ones the lowest or (end=high) highest. Nothing
/// where none of these options is on.
void PreferNodesForCpus(const PodBooks& books, const CpuSet& have, int cpus, const std::vector<HintList>& lists,
                        Merged& merged);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_ADMISSION_FILL_H_
