#include "allocator/cpu_selection/packed.h"

#include <algorithm>
#include <string>

namespace berth::allocator {
namespace {

/// The free CPUs of the first `want` cores, by core id, that have a free CPU in the L3 group.
CpuSet FirstCores(const Pool& pool, std::uint32_t uncore, int want) {
  const CpuTopology& topology = pool.topology();
  const CpuSet free = topology.units(Level::kUncore)[uncore].cpus & pool.free();
  std::vector<std::uint32_t> cores;
  for (CpuId cpu : free) cores.push_back(topology.IndexOf(cpu, Level::kCore));
  std::sort(cores.begin(), cores.end());
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  if (static_cast<int>(cores.size()) > want) cores.resize(static_cast<std::size_t>(want));
  CpuSet out;
  for (std::uint32_t core : cores) out |= topology.units(Level::kCore)[core].cpus & pool.free();
  return out;
}

/// Part of one L3 group: all or nothing. Cores are chosen by id, not by how full they are, and at most one CPU is
/// dropped, so a group with enough free CPUs may be passed over: the kubelet's rule (rules/cpu#l3-groups).
void TakePartOf(Pool& pool, std::uint32_t uncore) {
  const int per_core = std::max(1, pool.topology().cpus_per_core());
  const int want = (pool.need() + per_core - 1) / per_core;
  CpuSet cpus = FirstCores(pool, uncore, want);
  if (pool.need() % 2 != 0 && pool.topology().cpus_per_core() > 1 && cpus.Count() > pool.need())
    cpus.Erase(*cpus.Last());
  if (cpus.Count() == pool.need()) pool.Take(cpus);
}

void UncoreStep(Pool& pool) {
  for (std::uint32_t uncore : pool.Order(Level::kUncore)) {
    if (pool.need() >= pool.topology().cpus_per_uncore()) pool.TakeFull(Level::kUncore);
    if (pool.Done()) return;
    TakePartOf(pool, uncore);
    if (pool.Done()) return;
  }
}

}  // namespace

std::unexpected<Error> NotEnoughCpus(int requested, int available) {
  return Fail(Code::kExhausted, "not enough cpus available to satisfy request: requested=" + std::to_string(requested) +
                                    ", available=" + std::to_string(available));
}

Result<CpuSet> TakePacked(const CpuTopology& topology, const CpuSet& available, const CpuSet& also_free, int num,
                          const PackedStyle& style) {
  Pool pool(topology, available, also_free, num, style.size);
  if (pool.Done()) return CpuSet();
  if (num > pool.free().Count()) return NotEnoughCpus(num, available.Count());

  const bool numa_first = pool.NumaFirst();
  pool.TakeFull(numa_first ? Level::kNuma : Level::kSocket);
  if (!pool.Done()) pool.TakeFull(numa_first ? Level::kSocket : Level::kNuma);
  if (!pool.Done() && style.uncore) UncoreStep(pool);
  if (!pool.Done() && style.strategy == Strategy::kPacked) pool.TakeFull(Level::kCore);
  if (pool.Done()) return pool.result();
  for (CpuId cpu : pool.CpuOrder(style.strategy)) {
    if (pool.free().Contains(cpu)) pool.Take(CpuSet{cpu});
    if (pool.Done()) return pool.result();
  }
  return Fail(Code::kInternal, "failed to allocate cpus");
}

}  // namespace berth::allocator
