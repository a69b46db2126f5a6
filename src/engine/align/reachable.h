// The best set of nodes among all that AND-ing one hint of each list can give: docs/design/alignment.md.
#ifndef BERTH_ENGINE_ALIGN_REACHABLE_H_
#define BERTH_ENGINE_ALIGN_REACHABLE_H_

#include <vector>

#include "engine/align/preferred.h"

namespace berth::engine {

/// The best result that is not preferred; no mask if no combination of hints has a node in common.
Found BestReachable(const std::vector<HintList>& lists, const Mask& all, const Fitness& fitness);

}  // namespace berth::engine

#endif  // BERTH_ENGINE_ALIGN_REACHABLE_H_
