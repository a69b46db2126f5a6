// The nearest smaller request that would be admitted.
#ifndef BERTH_ENGINE_NEAREST_H_
#define BERTH_ENGINE_NEAREST_H_

#include <optional>
#include <vector>

#include "engine/attempt.h"
#include "engine/explain.h"

namespace berth::engine {

/// One changed amount if that is enough (the relatively smallest change), else as many as it takes. nullopt: none
/// found. Requires: the pod is not admitted now.
std::optional<NearestRequest> FindNearest(const Attempt& attempt, const Pod& pod);

}  // namespace berth::engine

#endif  // BERTH_ENGINE_NEAREST_H_
