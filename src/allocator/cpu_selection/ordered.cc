#include "allocator/cpu_selection/ordered.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "allocator/cpu_selection/packed.h"

namespace berth::allocator {
namespace {

/// Free CPUs of one unit. By ascending id of the unit in a list.
using Parts = std::vector<CpuSet>;

Parts PartsOf(const CpuTopology& topology, Level level, const CpuSet& free) {
  std::vector<CpuSet> by_unit(topology.units(level).size());
  for (const CpuId cpu : free) by_unit[topology.IndexOf(cpu, level)].Insert(cpu);
  std::erase_if(by_unit, [](const CpuSet& part) { return part.empty(); });
  return by_unit;
}

class Taker {
 public:
  Taker(const CpuTopology& topology, const TakeOrder& order, int num)
      : topology_(topology), order_(order), strict_(order.l3 == CachePlace::kStrict && FitsOneL3(topology, num)) {
    levels_.push_back({Level::kNuma, order.numa});
    if (order.l3) levels_.push_back({Level::kUncore, *order.l3 == CachePlace::kSpread ? Fill::kSpread : Fill::kPack});
  }

  /// Whether some part of `free` is to be had at all.
  bool Holds(const CpuSet& free, int need) const {
    if (free.Count() < need) return false;
    return !strict_ || std::ranges::any_of(PartsOf(topology_, Level::kUncore, free),
                                           [&](const CpuSet& part) { return part.Count() >= need; });
  }

  /// Requires: Holds(free, need), need > 0.
  CpuSet Take(const CpuSet& free, int need, std::size_t depth = 0) const {
    if (depth == levels_.size()) return order_.cores == Fill::kSpread ? Spread(free, need) : Pack(free, need);
    const auto& [level, fill] = levels_[depth];
    // A group that has them all may span nodes of which none has.
    if (strict_ && level == Level::kNuma && Best(PartsOf(topology_, level, free), fill, need) == nullptr)
      return Take(free, need, depth + 1);
    CpuSet out;
    for (Parts parts = PartsOf(topology_, level, free); need > 0;) {
      if (const CpuSet* const one = Best(parts, fill, need)) return out | Take(*one, need, depth + 1);
      const std::size_t largest = Largest(parts);
      out |= parts[largest];
      need -= parts[largest].Count();
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(largest));
    }
    return out;
  }

 private:
  /// Whether `count` goes before `best`, which comes earlier in ascending order.
  bool Before(int count, int best, Fill fill) const {
    if (count == best) return order_.end == CpuEnd::kHigh;
    return fill == Fill::kSpread ? count > best : count < best;
  }

  /// The one of those that hold `need`; nullptr: none does.
  const CpuSet* Best(const Parts& parts, Fill fill, int need) const {
    const CpuSet* out = nullptr;
    for (const CpuSet& part : parts)
      if (Holds(part, need) && (out == nullptr || Before(part.Count(), out->Count(), fill))) out = &part;
    return out;
  }

  std::size_t Largest(const Parts& parts) const {
    std::size_t out = 0;
    for (std::size_t i = 1; i < parts.size(); ++i)
      if (Before(parts[i].Count(), parts[out].Count(), Fill::kSpread)) out = i;
    return out;
  }

  CpuId EndOf(const CpuSet& cpus) const { return order_.end == CpuEnd::kHigh ? *cpus.Last() : *cpus.begin(); }

  CpuSet TakeSome(CpuSet from, int need) const {
    CpuSet out;
    for (; need > 0; --need) {
      const CpuId cpu = EndOf(from);
      out.Insert(cpu);
      from.Erase(cpu);
    }
    return out;
  }

  /// Whole cores while they are needed, then a part of the one that is left with the least.
  CpuSet Pack(const CpuSet& free, int need) const {
    CpuSet out;
    for (Parts cores = PartsOf(topology_, Level::kCore, free); need > 0;) {
      const CpuSet* one = nullptr;
      for (const CpuSet& core : cores)
        if (core.Count() >= need && (one == nullptr || Before(core.Count(), one->Count(), Fill::kPack))) one = &core;
      if (one != nullptr) return out | TakeSome(*one, need);
      const std::size_t largest = Largest(cores);
      out |= cores[largest];
      need -= cores[largest].Count();
      cores.erase(cores.begin() + static_cast<std::ptrdiff_t>(largest));
    }
    return out;
  }

  /// One CPU of the core that has the most left, again and again.
  CpuSet Spread(const CpuSet& free, int need) const {
    Parts cores = PartsOf(topology_, Level::kCore, free);
    CpuSet out;
    for (; need > 0; --need) {
      CpuSet& core = cores[Largest(cores)];
      const CpuId cpu = EndOf(core);
      out.Insert(cpu);
      core.Erase(cpu);
    }
    return out;
  }

  const CpuTopology& topology_;
  const TakeOrder& order_;
  bool strict_;
  std::vector<std::pair<Level, Fill>> levels_;
};

}  // namespace

bool FitsOneL3(const CpuTopology& topology, int num) {
  return std::ranges::any_of(topology.units(Level::kUncore),
                             [&](const Unit& group) { return group.cpus.Count() >= num; });
}

Result<CpuSet> TakeOrdered(const CpuTopology& topology, const CpuSet& available, int num, const TakeOrder& order) {
  const CpuSet free = available & topology.cpus();
  if (num < 1) return CpuSet();
  if (free.Count() < num) return NotEnoughCpus(num, free.Count());
  const Taker taker(topology, order, num);
  if (!taker.Holds(free, num))
    return Fail(Code::kExhausted, "no L3 group has " + std::to_string(num) + " of the free CPUs");
  return taker.Take(free, num);
}

}  // namespace berth::allocator
