// Pinned memory for containers: hints, allocation, reuse, release: docs/rules/memory.md.
#ifndef BERTH_ALLOCATOR_MEMORY_MANAGER_MEMORY_POLICY_H_
#define BERTH_ALLOCATOR_MEMORY_MANAGER_MEMORY_POLICY_H_

#include <optional>
#include <vector>

#include "allocator/allocation_state/pod_books.h"
#include "allocator/demand/demand.h"
#include "allocator/reason/decision_log.h"
#include "allocator/topology_manager/hints.h"
#include "model/decision.h"

namespace berth::allocator {

/// One list for all types, as they have the same sets. Requires: some needs. Oddity: where no set of nodes fits, the
/// kubelet says "no preference" instead of "impossible", so that such a pod passes the alignment and fails at
/// allocation (rules/topology#hints); kept.
HintList MemoryHints(const PodBooks& books, const std::vector<MemoryNeed>& needs);

/// Books the container's memory and puts the blocks into `placement`. nullopt: done (or nothing asked).
std::optional<Reject> AllocateMemory(PodBooks& books, const ContainerDemand& demand, const MaskHint& hint,
                                     Placement& placement, const DecisionLog& log);

/// The container's blocks are given back, from the lowest nodes of their groups as in the kubelet. Where a group and a
/// block on one of its nodes overlapped, what is left may then be booked on nodes whose blocks cannot hold it.
void ReleaseMemory(PodBooks& books, const Placement& placement);

/// Undoes that: every block that `ledger` and `record` (of the pod at hand, in place of the ledger's) still hold is
/// booked on its own nodes, and nothing else is. Without it the kubelet's leak stays.
void SettleMemory(PodBooks& books, const PodRecord& record);

/// The same where groups may overlap (EngineOptions::memory_groups_overlap), and else nothing: after each change, so
/// that what is free by the counters is free for everybody.
void SettleOverlapping(PodBooks& books, const PodRecord& record);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_MEMORY_MANAGER_MEMORY_POLICY_H_
