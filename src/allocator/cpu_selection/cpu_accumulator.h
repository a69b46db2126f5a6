// The free CPUs during one selection, and the orders in which the selection walks them: rules/cpu#orders.
#ifndef BERTH_ALLOCATOR_CPU_SELECTION_CPU_ACCUMULATOR_H_
#define BERTH_ALLOCATOR_CPU_SELECTION_CPU_ACCUMULATOR_H_

#include <cstdint>
#include <vector>

#include "allocator/topology/cpu_topology.h"
#include "base/id_set.h"

namespace berth::allocator {

/// Order of single CPUs in the last step: core by core, socket by socket, or in each socket one of each core in turn.
enum class Strategy : std::uint8_t { kPacked, kSpread, kOnePerCore };

/// How many free CPUs a socket or core has when it counts as free: as many as the average, or all of its own.
enum class UnitSize : std::uint8_t { kAverage, kReal };

/// Free CPUs, what is still needed, what was taken. Not kept beyond one selection.
class Pool {
 public:
  /// also_free: TakeRequest::also_free.
  Pool(const CpuTopology& topology, const CpuSet& available, const CpuSet& also_free, int need,
       UnitSize size = UnitSize::kAverage)
      : topology_(topology),
        free_(available & topology.cpus()),
        also_free_((also_free & topology.cpus()) - available),
        need_(need),
        size_(size) {}

  const CpuTopology& topology() const { return topology_; }
  const CpuSet& free() const { return free_; }
  const CpuSet& result() const { return result_; }
  int need() const { return need_; }
  bool Done() const { return need_ < 1; }

  /// Free, meant or not.
  CpuSet AllFree() const { return free_ | also_free_; }

  /// Requires: cpus is a subset of AllFree().
  void Take(const CpuSet& cpus);

  /// NUMA nodes are at least as large as sockets (one node or more sockets per node).
  bool NumaFirst() const { return topology_.num_sockets() >= topology_.num_numa(); }

  /// Unit indexes at a level in the order they are filled up, most used first; a unit that spans two groups of the
  /// level above appears twice, as in the kubelet.
  std::vector<std::uint32_t> Order(Level level) const;
  /// Free CPUs in the order of the last step.
  std::vector<CpuId> CpuOrder(Strategy strategy) const;

  /// Takes whole units of `level` that are completely free, while the need is large enough.
  void TakeFull(Level level);

  int FreeIn(Level level, std::uint32_t index) const { return topology_.units(level)[index].cpus.CountCommon(free_); }

 private:
  /// All units with free CPUs as one group, and those of `inner` by the groups of `outer`.
  std::vector<std::uint32_t> Flat(Level level) const;
  std::vector<std::uint32_t> Concatenated(Level outer, Level inner) const;
  std::vector<CpuId> OnePerCore() const;
  bool LooksFree(Level level, std::uint32_t index) const;

  const CpuTopology& topology_;
  CpuSet free_;
  CpuSet also_free_;
  CpuSet result_;
  int need_;
  UnitSize size_;
};

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_CPU_SELECTION_CPU_ACCUMULATOR_H_
