#include "allocator/cpu_selection/cpu_accumulator.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace berth::allocator {
namespace {

/// Units of a level, group by group: in each those with the fewest free CPUs first.
class Ranking {
 public:
  Ranking(const CpuTopology& topology, Level level, const CpuSet& free)
      : topology_(topology), level_(level), units_(topology.units(level).size()) {
    for (CpuId cpu : free) ++units_[topology.IndexOf(cpu, level)].free;
    order_.reserve(units_.size());
  }

  /// The units that `cpus`, which are free, belong to. A unit of several groups is appended by each.
  void Append(const CpuSet& cpus) {
    ++group_;
    const auto first = static_cast<std::ptrdiff_t>(order_.size());
    for (CpuId cpu : cpus) {
      const std::uint32_t index = topology_.IndexOf(cpu, level_);
      if (std::exchange(units_[index].group, group_) != group_) order_.push_back(index);
    }
    std::sort(order_.begin() + first, order_.end(), [this](std::uint32_t a, std::uint32_t b) {
      return units_[a].free != units_[b].free ? units_[a].free < units_[b].free : a < b;
    });
  }

  std::vector<std::uint32_t> Taken() && { return std::move(order_); }

 private:
  struct Counted {
    std::uint32_t free = 0;
    std::uint32_t group = 0;  // that appended it last
  };
  const CpuTopology& topology_;
  Level level_;
  std::vector<Counted> units_;  // by index
  std::vector<std::uint32_t> order_;
  std::uint32_t group_ = 0;
};

}  // namespace

void Pool::Take(const CpuSet& cpus) {
  result_ |= cpus;
  free_ -= cpus;
  also_free_ -= cpus;
  need_ -= cpus.Count();
}

std::vector<std::uint32_t> Pool::Concatenated(Level outer, Level inner) const {
  Ranking ranking(topology_, inner, free_);
  for (std::uint32_t group : Order(outer)) ranking.Append(topology_.units(outer)[group].cpus & free_);
  return std::move(ranking).Taken();
}

std::vector<std::uint32_t> Pool::Flat(Level level) const {
  Ranking ranking(topology_, level, free_);
  ranking.Append(free_);
  return std::move(ranking).Taken();
}

std::vector<std::uint32_t> Pool::Order(Level level) const {
  const bool numa_first = NumaFirst();
  switch (level) {
    case Level::kNuma: return numa_first ? Flat(Level::kNuma) : Concatenated(Level::kSocket, Level::kNuma);
    case Level::kSocket: return numa_first ? Concatenated(Level::kNuma, Level::kSocket) : Flat(Level::kSocket);
    case Level::kUncore: return Concatenated(Level::kNuma, Level::kUncore);
    case Level::kCore: return Concatenated(numa_first ? Level::kSocket : Level::kNuma, Level::kCore);
  }
  return {};
}

std::vector<CpuId> Pool::OnePerCore() const {
  const std::vector<std::uint32_t> cores = Order(Level::kCore);
  std::vector<CpuId> out;
  for (const std::uint32_t socket : Order(Level::kSocket)) {
    const CpuSet cpus = topology_.units(Level::kSocket)[socket].cpus & free_;
    std::vector<CpuSet> left;
    for (const std::uint32_t core : cores)
      if (CpuSet of_core = topology_.units(Level::kCore)[core].cpus & cpus; !of_core.empty())
        left.push_back(std::move(of_core));
    while (!left.empty()) {
      for (CpuSet& of_core : left) {
        const CpuId cpu = *of_core.First();
        out.push_back(cpu);
        of_core.Erase(cpu);
      }
      std::erase_if(left, [](const CpuSet& of_core) { return of_core.empty(); });
    }
  }
  return out;
}

std::vector<CpuId> Pool::CpuOrder(Strategy strategy) const {
  if (strategy == Strategy::kOnePerCore) return OnePerCore();
  const Level group = strategy == Strategy::kSpread ? Level::kSocket : Level::kCore;
  std::vector<CpuId> out;
  for (std::uint32_t index : Order(group))
    for (CpuId cpu : topology_.units(group)[index].cpus& free_) out.push_back(cpu);
  return out;
}

// Up to 1.37 sockets and cores are held against the machine's average size, not their own: on machines with sockets or
// cores of different sizes the kubelet finds small ones "free" or never finds them. Kept, because on such machines it
// decides which CPUs are taken first (rules/cpu#orders).
bool Pool::LooksFree(Level level, std::uint32_t index) const {
  const int free = FreeIn(level, index);
  if (size_ == UnitSize::kAverage && level == Level::kSocket) return free == topology_.cpus_per_socket();
  if (size_ == UnitSize::kAverage && level == Level::kCore) return free == topology_.cpus_per_core();
  return free == topology_.units(level)[index].cpus.Count();
}

void Pool::TakeFull(Level level) {
  if (need_ < topology_.smallest(level)) return;
  const auto units = static_cast<std::uint32_t>(topology_.units(level).size());
  std::vector<bool> full(units);  // before any is taken
  for (std::uint32_t index = 0; index < units; ++index) full[index] = LooksFree(level, index);
  if (std::ranges::find(full, true) == full.end()) return;
  for (std::uint32_t index : Order(level)) {
    if (!full[index]) continue;
    const CpuSet& cpus = topology_.units(level)[index].cpus;
    if (need_ < cpus.Count()) continue;
    // The kubelet takes all CPUs of the unit here even if some are in use or reserved (docs/differences.md).
    if (cpus.IsSubsetOf(AllFree())) Take(cpus);
  }
}

}  // namespace berth::allocator
