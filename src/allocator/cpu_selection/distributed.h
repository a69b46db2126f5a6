// Selection spread evenly over NUMA nodes: rules/cpu#distributed.
#ifndef BERTH_ALLOCATOR_CPU_SELECTION_DISTRIBUTED_H_
#define BERTH_ALLOCATOR_CPU_SELECTION_DISTRIBUTED_H_

#include "allocator/cpu_selection/cpu_accumulator.h"
#include "base/result.h"

namespace berth::allocator {

/// Errors: kExhausted as TakePacked, and "accounting error, ..." where the kubelet's choice of nodes does not hold the
/// CPUs (rules/cpu#distributed).
/// Requires: group >= 1.
Result<CpuSet> TakeDistributed(const CpuTopology& topology, const CpuSet& available, const CpuSet& also_free, int num,
                               int group, Strategy strategy);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_CPU_SELECTION_DISTRIBUTED_H_
