// The nearest smaller request that would be admitted.
#ifndef BERTH_ALLOCATOR_EXPLAIN_NEAREST_H_
#define BERTH_ALLOCATOR_EXPLAIN_NEAREST_H_

#include <optional>

#include "allocator/explain/attempt.h"
#include "model/explanation.h"

namespace berth::allocator {

struct NearestSearch {
  std::optional<NearestRequest> nearest;  ///< nullopt: none found
  bool exhaustive = false;                ///< Explanation::nearest_exhaustive
};

/// One changed amount if that is enough (the relatively smallest change), else as many as it takes. Amounts change in
/// whole steps: a CPU (a core under full-pcpus-only), 1 MiB, a huge page, a device; with one step more of the last
/// changed amount the pod was rejected. Spends tries of `attempt`. Requires: the pod is not admitted now.
NearestSearch FindNearest(const Attempt& attempt, const Pod& pod);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_EXPLAIN_NEAREST_H_
