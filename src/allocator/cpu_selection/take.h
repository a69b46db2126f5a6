// Choosing CPUs out of a set of free ones: rules/cpu#orders, rules/cpu#packed and rules/cpu#distributed.
#ifndef BERTH_ALLOCATOR_CPU_SELECTION_TAKE_H_
#define BERTH_ALLOCATOR_CPU_SELECTION_TAKE_H_

#include <optional>

#include "allocator/cpu_selection/ordered.h"
#include "allocator/topology/cpu_topology.h"
#include "base/id_set.h"
#include "base/result.h"
#include "model/kubelet_rules.h"

namespace berth::allocator {

struct TakeRequest {
  CpuSet available;  ///< CPUs the machine does not know are ignored
  /// CPUs that are free too but not meant: they do not count, and are taken only as part of a whole socket, L3 group or
  /// core that counts as free (the kubelet takes whole units wherever their CPUs are: rules/cpu#orders).
  CpuSet also_free;
  int num = 0;               ///< < 1 takes nothing
  bool distributed = false;  ///< spread evenly over NUMA nodes (distribute-cpus-across-numa)
  int group = 1;             ///< distributed only: CPUs handed out together; >= 1
  bool by_socket = false;    ///< distributed only: align-by-socket is on too
  int hinted_nodes = 0;      ///< distributed only: nodes of the hint that `available` was cut to; 0: it was not
  bool uncore = false;       ///< align to L3 groups (prefer-align-cpus-by-uncorecache); packed only
  bool spread = false;       ///< one CPU per core as far as possible (distribute-cpus-across-cores)
  /// Berth's own order, instead of those before; only `available` is taken then, whole cores of it where `group` is
  /// above 1.
  std::optional<TakeOrder> order{};
  KubeletRules rules{};
};

/// Exactly `num` CPUs of `available` (and `also_free`).
/// Errors: kExhausted with the kubelet's words ("not enough cpus available to satisfy request: ...", "accounting error,
/// ...").
Result<CpuSet> TakeCpus(const CpuTopology& topology, const TakeRequest& request);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_CPU_SELECTION_TAKE_H_
