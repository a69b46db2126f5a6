#include "allocator/admission/fill.h"

#include <cstddef>

#include "allocator/cpu_manager/choice.h"
#include "allocator/cpu_manager/other_size.h"

namespace berth::allocator {
namespace {

/// Sets that are compared; where there are more the lowest stands.
constexpr std::size_t kMostFillSets = 512;

int FreeOn(const PodBooks& books, const CpuSet& free, const Mask& mask) {
  int out = 0;
  mask.ForEach([&](std::size_t node) { out += books.tables->node_cpus[node].CountCommon(free); });
  return out;
}

/// What counts of one set of nodes: the place of the narrowest of TiersOf that has all CPUs there, and how many are
/// free.
struct Rank {
  std::size_t tier = 0;
  int free = 0;
};

}  // namespace

void PreferNodesForCpus(const PodBooks& books, const CpuSet& have, int cpus, const std::vector<HintList>& lists,
                        Merged& merged) {
  const CpuOptions& options = books.rules.cpu;
  const bool high = options.end == CpuEnd::kHigh;
  const bool narrows = cpus > 0 && PrefersCpus(options);
  if ((!options.numa && !high && !narrows) || !merged.hint.preferred || merged.hint.any) return;
  const CpuSet free = GivableCpus(books);
  const std::vector<CpuSet> tiers = TiersOf(books, free | have);
  const Mask lowest = merged.hint.mask;
  const auto rank_of = [&](const Mask& mask) {
    return Rank{narrows ? TierOn(books, have, cpus, tiers, {mask, false, true}) : 0,
                options.numa ? FreeOn(books, free, mask) : 0};
  };
  const Rank first = rank_of(lowest);
  Rank best = first;
  for (const Mask& mask : books.tables->aligner.Equals(lists, lowest, kMostFillSets, books.rules.topology_policy)) {
    if (mask == lowest) continue;
    const Rank rank = rank_of(mask);
    const bool fill = rank.free == best.free ? high : (rank.free < best.free) == (options.numa == Fill::kPack);
    if (rank.tier > best.tier || (rank.tier == best.tier && !fill)) continue;
    best = rank;
    merged.hint.mask = mask;
  }
  if (merged.hint.mask == lowest) return;
  merged.rule = best.tier < first.tier
                    ? "all resources prefer these nodes; of equally few, one with enough preferred CPUs won"
                : !options.numa                 ? "all resources prefer these nodes; of equally few, the highest won"
                : options.numa == Fill::kSpread ? "all resources prefer these nodes; of equally few, the emptiest won"
                                                : "all resources prefer these nodes; of equally few, the fullest won";
}

}  // namespace berth::allocator
