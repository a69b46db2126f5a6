// Named CPU pools, as large as their containers need: docs/rules/pools.md.
#ifndef BERTH_ALLOCATOR_CPU_MANAGER_POOLS_H_
#define BERTH_ALLOCATOR_CPU_MANAGER_POOLS_H_

#include <optional>

#include "allocator/allocation_state/pod_books.h"
#include "allocator/reason/decision_log.h"
#include "model/decision.h"

namespace berth::allocator {

/// Gives every pool that the pod of the books' record is in, or was in by the ledger, the CPUs its containers need
/// now; those that need fewer first. nullopt: done. Nothing is refused where no pool is asked for more than before.
std::optional<Reject> SettlePools(PodBooks& books, const DecisionLog& log);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_CPU_MANAGER_POOLS_H_
