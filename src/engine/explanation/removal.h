// The smallest set of pods whose end would let another one in.
#ifndef BERTH_ENGINE_EXPLANATION_REMOVAL_H_
#define BERTH_ENGINE_EXPLANATION_REMOVAL_H_

#include <optional>

#include "engine/explanation/attempt.h"
#include "model/explanation.h"

namespace berth::engine {

/// nullopt: not even without all other pods. Spends tries of `attempt`; when they run out, the set is marked as maybe
/// not the smallest. Requires: the pod is not admitted now, at least one try is left.
std::optional<Removal> SmallestRemoval(const Attempt& attempt, const Pod& pod);

}  // namespace berth::engine

#endif  // BERTH_ENGINE_EXPLANATION_REMOVAL_H_
