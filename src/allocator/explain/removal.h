// The smallest set of pods whose end would let another one in.
#ifndef BERTH_ALLOCATOR_EXPLAIN_REMOVAL_H_
#define BERTH_ALLOCATOR_EXPLAIN_REMOVAL_H_

#include <optional>
#include <string>
#include <vector>

#include "allocator/explain/attempt.h"
#include "model/explanation.h"

namespace berth::allocator {

/// All pods, the last one that was admitted first.
std::vector<std::string> NewestFirst(const Ledger& ledger);

/// The fewest of these pods (uids in the ledger); of sets of equally many the one whose last pod comes first in the
/// order, then the one before it. nullopt: not even without all of them. Spends tries of `attempt`; when they run out,
/// the set is marked as maybe not the smallest. Requires: the pod is not admitted now, at least one try is left.
std::optional<Removal> SmallestRemoval(const Attempt& attempt, const Pod& pod, std::vector<std::string> order);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_EXPLAIN_REMOVAL_H_
