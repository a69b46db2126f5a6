// Selection spread evenly over NUMA nodes: rules/cpu#distributed.
#ifndef BERTH_ENGINE_TAKE_DISTRIBUTED_H_
#define BERTH_ENGINE_TAKE_DISTRIBUTED_H_

#include "base/result.h"
#include "engine/take/cpu_accumulator.h"

namespace berth::engine {

/// Errors: kExhausted as TakePacked, and "accounting error, ..." where the kubelet's choice of nodes does not hold the
/// CPUs (rules/cpu#distributed).
/// Requires: group >= 1.
Result<CpuSet> TakeDistributed(const CpuTopology& topology, const CpuSet& available, const CpuSet& also_free, int num,
                               int group, Strategy strategy);

}  // namespace berth::engine

#endif  // BERTH_ENGINE_TAKE_DISTRIBUTED_H_
