// Comparison of two merged NUMA node masks, the better one first: rules/topology#merging and rules/topology#fitness.
// Both orders are total, so that a merge may look at candidates in any order.
#ifndef BERTH_ALLOCATOR_TOPOLOGY_MANAGER_FITNESS_H_
#define BERTH_ALLOCATOR_TOPOLOGY_MANAGER_FITNESS_H_

#include "allocator/topology/mask.h"
#include "allocator/topology_manager/search.h"

namespace berth::allocator {

struct Fitness {
  const Distances* distances = nullptr;  ///< not null: equally many nodes are compared by their distances

  bool Fitter(const Mask& a, const Mask& b) const {
    if (distances == nullptr || a.Count() != b.Count()) return Narrower(a, b);
    const std::int64_t ax = distances->Sum(a);
    const std::int64_t bx = distances->Sum(b);
    return ax != bx ? ax < bx : a < b;
  }

  /// Of two results that are not preferred: exactly `bnp` nodes first, then the most below it, then whatever fits best
  /// above.
  bool BetterUnpreferred(const Mask& a, const Mask& b, int bnp) const {
    const int ca = a.Count();
    const int cb = b.Count();
    if ((ca > bnp) != (cb > bnp)) return cb > bnp;
    if (ca > bnp || ca == cb) return Fitter(a, b);
    return ca > cb;
  }
};

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_TOPOLOGY_MANAGER_FITNESS_H_
