// The narrowest set of nodes that holds enough of several types, without walking all sets.
#ifndef BERTH_ENGINE_MEMORY_NARROWEST_H_
#define BERTH_ENGINE_MEMORY_NARROWEST_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/align/mask.h"

namespace berth::engine {

/// amounts[t][i]: what node i has of the t-th asked type, >= 0; needs[t]: what is asked.
struct Amounts {
  std::vector<std::vector<std::int64_t>> amounts;
  std::vector<std::int64_t> needs;

  bool Enough(Mask mask) const;
};

/// Steps of one search after which NarrowestEnough takes a set that is good enough. No search among 16 nodes needs
/// them.
inline constexpr std::int64_t kMostNarrowestSteps = std::int64_t{1} << 20;

/// The narrowest mask (fewest nodes, then numerically smallest) with required ⊆ mask ⊆ allowed, at least `min_nodes`
/// nodes and enough of every type; nullopt if there is none.
///
/// For one type this is a walk over the nodes; for several it may have to go back, and does so only where the best
/// remaining nodes of each single type would be enough. Equal nodes are taken lowest first, so that many nodes of few
/// kinds cost no more than the numbers of each kind. After kMostNarrowestSteps the answer is a set from which no node
/// can be left out, found by leaving out nodes while that is possible, highest first. `steps`: counts the steps.
std::optional<Mask> NarrowestEnough(const Amounts& amounts, Mask allowed, Mask required, int min_nodes,
                                    std::int64_t* steps = nullptr);

}  // namespace berth::engine

#endif  // BERTH_ENGINE_MEMORY_NARROWEST_H_
