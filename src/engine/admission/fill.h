// Tie-break among equally good sets of NUMA nodes: preferred CPUs, the fullest, the emptiest, or the last:
// rules/own#order.
#ifndef BERTH_ENGINE_ADMISSION_FILL_H_
#define BERTH_ENGINE_ADMISSION_FILL_H_

#include <vector>

#include "base/id_set.h"
#include "engine/align/aligner.h"
#include "engine/books/pod_books.h"

namespace berth::engine {

/// Of the sets that are as good as a preferred `merged.hint` but for their numbers, takes one that has `cpus` (those
/// that are asked beside `have`, which stay) of the narrowest of TiersOf, as TierOn says; then the one whose nodes have
/// the fewest (numa=pack) or most (numa=spread) CPUs to give; of equal ones the lowest or (end=high) highest. Nothing
/// where none of these options is on.
void PreferNodesForCpus(const PodBooks& books, const CpuSet& have, int cpus, const std::vector<HintList>& lists,
                        Merged& merged);

}  // namespace berth::engine

#endif  // BERTH_ENGINE_ADMISSION_FILL_H_
