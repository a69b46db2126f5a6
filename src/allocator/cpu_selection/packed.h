// Packed selection of CPUs: rules/cpu#packed, rules/cpu#l3-groups.
#ifndef BERTH_ALLOCATOR_CPU_SELECTION_PACKED_H_
#define BERTH_ALLOCATOR_CPU_SELECTION_PACKED_H_

#include "allocator/cpu_selection/cpu_accumulator.h"
#include "base/result.h"

namespace berth::allocator {

struct PackedStyle {
  Strategy strategy = Strategy::kPacked;
  UnitSize size = UnitSize::kAverage;
  bool uncore = false;  ///< L3 groups before cores
};

/// Whole nodes, sockets, (L3 groups,) cores, then single CPUs.
/// Errors: kExhausted when `available` has fewer than `num` CPUs.
Result<CpuSet> TakePacked(const CpuTopology& topology, const CpuSet& available, const CpuSet& also_free, int num,
                          const PackedStyle& style);

/// Error for a request that is larger than what is there, in the kubelet's words.
[[nodiscard]] std::unexpected<Error> NotEnoughCpus(int requested, int available);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_CPU_SELECTION_PACKED_H_
