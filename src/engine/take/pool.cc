#include "engine/take/pool.h"

#include <algorithm>

namespace berth::engine {

void Pool::Take(const CpuSet& cpus) {
  result_ |= cpus;
  free_ -= cpus;
  also_free_ -= cpus;
  need_ -= cpus.Count();
}

std::vector<std::uint32_t> Pool::ByFree(Level level, const CpuSet& within) const {
  struct Key {
    int free;
    std::uint32_t index;
    bool operator<(const Key& o) const { return free != o.free ? free < o.free : index < o.index; }
  };
  std::vector<bool> seen(topology_.units(level).size());
  std::vector<Key> keys;
  keys.reserve(seen.size());
  for (CpuId cpu : free_& within) {
    const std::uint32_t index = topology_.IndexOf(cpu, level);
    if (seen[index]) continue;
    seen[index] = true;
    keys.push_back({FreeIn(level, index), index});
  }
  std::sort(keys.begin(), keys.end());
  std::vector<std::uint32_t> out;
  out.reserve(keys.size());
  for (const Key& key : keys) out.push_back(key.index);
  return out;
}

std::vector<std::uint32_t> Pool::Concatenated(Level outer, Level inner) const {
  std::vector<std::uint32_t> out;
  for (std::uint32_t group : Order(outer)) {
    const std::vector<std::uint32_t> part = ByFree(inner, topology_.units(outer)[group].cpus);
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

std::vector<std::uint32_t> Pool::Order(Level level) const {
  const bool numa_first = NumaFirst();
  switch (level) {
    case Level::kNuma: return numa_first ? ByFree(Level::kNuma, free_) : Concatenated(Level::kSocket, Level::kNuma);
    case Level::kSocket: return numa_first ? Concatenated(Level::kNuma, Level::kSocket) : ByFree(Level::kSocket, free_);
    case Level::kUncore: return Concatenated(Level::kNuma, Level::kUncore);
    case Level::kCore: return Concatenated(numa_first ? Level::kSocket : Level::kNuma, Level::kCore);
  }
  return {};
}

std::vector<CpuId> Pool::CpuOrder(Strategy strategy) const {
  const Level group = strategy == Strategy::kSpread ? Level::kSocket : Level::kCore;
  std::vector<CpuId> out;
  for (std::uint32_t index : Order(group))
    for (CpuId cpu : topology_.units(group)[index].cpus& free_) out.push_back(cpu);
  return out;
}

// Sockets and cores are held against the machine's average size, not their own: on machines with sockets or cores of
// different sizes the kubelet finds small ones "free" or never finds them. Kept, because on such machines it decides
// which CPUs are taken first (rules/cpu#orders).
bool Pool::LooksFree(Level level, std::uint32_t index) const {
  const int free = FreeIn(level, index);
  switch (level) {
    case Level::kSocket: return free == topology_.cpus_per_socket();
    case Level::kCore: return free == topology_.cpus_per_core();
    case Level::kNuma:
    case Level::kUncore: return free == topology_.units(level)[index].cpus.Count();
  }
  return false;
}

void Pool::TakeFull(Level level) {
  if (need_ < topology_.smallest(level)) return;
  std::vector<std::uint32_t> full = Order(level);
  std::erase_if(full, [&](std::uint32_t index) { return !LooksFree(level, index); });
  for (std::uint32_t index : full) {
    const CpuSet& cpus = topology_.units(level)[index].cpus;
    if (need_ < cpus.Count()) continue;
    // The kubelet takes all CPUs of the unit here even if some are in use or reserved (docs/differences.md).
    if (cpus.IsSubsetOf(AllFree())) Take(cpus);
  }
}

}  // namespace berth::engine
