// All masks that can come out of AND-ing one mask of each of several lists, without walking the tuples.
#ifndef BERTH_ALLOCATOR_TOPOLOGY_MANAGER_PRODUCTS_H_
#define BERTH_ALLOCATOR_TOPOLOGY_MANAGER_PRODUCTS_H_

#include <vector>

#include "allocator/topology/mask.h"

namespace berth::allocator {

/// Masks that are kept between two lists where there are too many nodes for a table.
inline constexpr std::size_t kMostProducts = 1024;

/// The non-empty elements of { x & y : x in a, y in b }, ascending. Cost: min(|a|*|b|, n * 2^n) for the n nodes that
/// occur in both lists. With more than kExactNodes such nodes at most kMostProducts elements, those with the most
/// nodes, the numerically smaller ones first; `complete` becomes false if that left any out.
std::vector<Mask> AndProducts(const std::vector<Mask>& a, const std::vector<Mask>& b, bool& complete);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_TOPOLOGY_MANAGER_PRODUCTS_H_
