// The best set of nodes that all lists of hints prefer: docs/design/alignment.md.
#ifndef BERTH_ALLOCATOR_TOPOLOGY_MANAGER_PREFERRED_H_
#define BERTH_ALLOCATOR_TOPOLOGY_MANAGER_PREFERRED_H_

#include <optional>
#include <vector>

#include "allocator/topology_manager/fitness.h"
#include "allocator/topology_manager/hints.h"

namespace berth::allocator {

struct Found {
  std::optional<Mask> mask;
  bool exact = true;  ///< false: a search ended at its limit
  std::int64_t steps = 0;
};

/// The fittest set that every list prefers (or has a preferred "any"); the whole machine if no list names any.
/// `single`: only sets of one node and "any" count.
Found BestPreferred(const std::vector<HintList>& lists, const Mask& all, const Fitness& fitness, bool single);

/// The sets of `count` nodes that all lists prefer, ascending. None when no list names nodes, or when more than `most`
/// sets would have to be tried.
std::vector<Mask> PreferredSets(const std::vector<HintList>& lists, const Mask& all, int count, std::size_t most);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_TOPOLOGY_MANAGER_PREFERRED_H_
