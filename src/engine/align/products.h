// All masks that can come out of AND-ing one mask of each of several lists, without walking the tuples.
#ifndef BERTH_ENGINE_ALIGN_PRODUCTS_H_
#define BERTH_ENGINE_ALIGN_PRODUCTS_H_

#include <vector>

#include "engine/align/mask.h"

namespace berth::engine {

/// The non-zero elements of { x & y : x in a, y in b }, ascending. Cost: min(|a|*|b|, nodes * 2^nodes).
/// Requires: no bits at or above `nodes`.
std::vector<Mask> AndProducts(const std::vector<Mask>& a, const std::vector<Mask>& b, std::size_t nodes);

}  // namespace berth::engine

#endif  // BERTH_ENGINE_ALIGN_PRODUCTS_H_
