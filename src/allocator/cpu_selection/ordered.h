// Selection of CPUs in an order of Berth's own: packed or spread over NUMA nodes, L3 groups and cores, from either end:
// rules/own#order.
#ifndef BERTH_ALLOCATOR_CPU_SELECTION_ORDERED_H_
#define BERTH_ALLOCATOR_CPU_SELECTION_ORDERED_H_

#include <optional>

#include "allocator/topology/cpu_topology.h"
#include "base/result.h"
#include "model/own_rules.h"

namespace berth::allocator {

struct TakeOrder {
  Fill numa = Fill::kPack;
  std::optional<CachePlace> l3{};  ///< nullopt: L3 groups are not looked at
  Fill cores = Fill::kPack;        ///< kPack: whole cores first; kSpread: one CPU of each as far as there are cores
  CpuEnd end = CpuEnd::kLow;
  friend bool operator==(const TakeOrder&, const TakeOrder&) = default;
};

/// Whether a request of that size has to be within one L3 group under CachePlace::kStrict: some group is as large.
bool FitsOneL3(const CpuTopology& topology, int num);

/// Exactly `num` CPUs of `available`; CPUs the machine does not know are ignored. Nodes, then L3 groups, then cores:
/// where one has enough for what is needed, it is the one with the fewest (pack) or most (spread) free CPUs; else the
/// one with the most is taken whole, and so on. Of equal ones the lowest or highest id.
/// Errors: kExhausted: there are not as many, or under kStrict no L3 group has them.
Result<CpuSet> TakeOrdered(const CpuTopology& topology, const CpuSet& available, int num, const TakeOrder& order);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_CPU_SELECTION_ORDERED_H_
