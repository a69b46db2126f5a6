// Selection spread evenly over NUMA nodes: rules/cpu#distributed.
#ifndef BERTH_ALLOCATOR_CPU_SELECTION_DISTRIBUTED_H_
#define BERTH_ALLOCATOR_CPU_SELECTION_DISTRIBUTED_H_

#include "allocator/cpu_selection/packed.h"
#include "allocator/topology/cpu_topology.h"
#include "base/id_set.h"
#include "base/result.h"

namespace berth::allocator {

struct Distribution {
  int num = 0;
  int group = 1;                   ///< >= 1
  int least_nodes = 0;             ///< over as many nodes at least; more than there are: any number
  bool within_socket = false;      ///< KubeletRules::distribute_within_socket
  bool clip_share = false;         ///< KubeletRules::clip_even_share
  bool copy_combinations = false;  ///< KubeletRules::copy_combinations
};

/// `style`: of the CPUs of one node, and of all where they cannot be spread; without L3 groups.
/// Errors: kExhausted as TakePacked, and "accounting error, ..." where the kubelet's choice of nodes does not hold the
/// CPUs (rules/cpu#distributed).
Result<CpuSet> TakeDistributed(const CpuTopology& topology, const CpuSet& available, const CpuSet& also_free,
                               const Distribution& how, const PackedStyle& style);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_CPU_SELECTION_DISTRIBUTED_H_
