#include "allocator/cpu_manager/other_size.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "allocator/cpu_manager/choice.h"
#include "base/words.h"

namespace berth::allocator {
namespace {

/// `num` CPUs of `free`, those that lie nearest to `have` first: of its cores, L3 groups, nodes, sockets, then others;
/// among equally near ones as for a container of its own. Options that spread CPUs over cores or nodes leave out what
/// stands against them. Under strict L3 `free` is of one group already where it has to be.
Result<CpuSet> TakeNearest(const PodBooks& books, const CpuSet& have, const CpuSet& free, int num) {
  const CpuOptions& options = books.rules.cpu;
  const CpuTopology& topology = books.tables->topology;
  std::vector<CpuSet> rings;
  const CpuSet nodes = topology.Around(have, Level::kNuma);
  const bool spreads_cores = options.distribute_cores || options.cores == Fill::kSpread;
  if (!spreads_cores && !options.distribute_numa) rings.push_back(topology.Around(have, Level::kCore));
  if (!options.distribute_numa) rings.push_back(topology.Around(have, Level::kUncore) & nodes);
  if (!options.distribute_numa) rings.push_back(nodes);
  rings.push_back(topology.Around(have, Level::kSocket));
  rings.push_back(books.tables->all_cpus);
  CpuSet out;
  for (const CpuSet& ring : rings) {
    CpuSet near = (free & ring) - out;
    TakeRequest request = RequestFor(books, near, std::min(num - out.Count(), near.Count()));
    if (request.order && request.order->l3 == CachePlace::kStrict) request.order->l3 = CachePlace::kPack;
    BERTH_TRY(const CpuSet taken, TakeCpus(topology, request));
    out |= taken;
  }
  if (out.Count() == num) return out;
  return Fail(Code::kExhausted, "not enough cpus available to satisfy request: requested=" + std::to_string(num) +
                                    ", available=" + std::to_string(free.Count()));
}

/// The L3 group with all of `have`; nullptr: there is none.
const Unit* GroupWith(const CpuTopology& topology, const CpuSet& have) {
  const std::vector<Unit>& groups = topology.units(Level::kUncore);
  const auto found = std::ranges::find_if(groups, [&](const Unit& group) { return have.IsSubsetOf(group.cpus); });
  return found == groups.end() ? nullptr : &*found;
}

/// What may be added out of `tier`: of the group it is in where all of it has to be in one, and whole cores where parts
/// of them are not given.
CpuSet FreeToGrow(const PodBooks& books, const CpuSet& have, int num, const CpuSet& tier) {
  const CpuTopology& topology = books.tables->topology;
  CpuSet out = tier - have;
  const Unit* const group = InOneL3(books, have.Count() + num) ? GroupWith(topology, have) : nullptr;
  if (group != nullptr) out &= group->cpus;
  return books.rules.cpu.full_pcpus_only ? topology.Whole(out, Level::kCore) : out;
}

/// The L3 group that has `num` of `have`, and of these the most of `promised`; the lowest of equal ones.
const Unit* GroupToKeep(const CpuTopology& topology, const CpuSet& promised, const CpuSet& have, int num) {
  const Unit* out = nullptr;
  for (const Unit& group : topology.units(Level::kUncore))
    if (group.cpus.CountCommon(have) >= num &&
        (out == nullptr || group.cpus.CountCommon(promised) > out->cpus.CountCommon(promised)))
      out = &group;
  return out;
}

}  // namespace

Result<CpuSet> ChooseMore(const PodBooks& books, const CpuSet& have, int num, const MaskHint& hint) {
  if (have.empty()) return ChooseCpus(books, num, hint);
  if (std::string short_of = L3ShortageOfMore(books, have, num); !short_of.empty())
    return Fail(Code::kExhausted, std::move(short_of));
  const std::vector<CpuSet> tiers = TiersOf(books, GivableCpus(books) | have);
  const CpuSet free = FreeToGrow(books, have, num, tiers[TierOn(books, have, num, tiers, hint)]);
  CpuSet out;
  if (!hint.any) {
    const CpuSet aligned = AlignedCpus(books, free, hint.mask);
    BERTH_TRY(out, TakeNearest(books, have, aligned, std::min(num, aligned.Count())));
  }
  BERTH_TRY(const CpuSet rest, TakeNearest(books, have | out, free - out, num - out.Count()));
  return out | rest;
}

Result<CpuSet> ChooseFewer(const PodBooks& books, CpuSet promised, CpuSet have, int num) {
  const CpuTopology& topology = books.tables->topology;
  if (InOneL3(books, num)) {
    const Unit* const group = GroupToKeep(topology, promised, have, num);
    if (group == nullptr)
      return Fail(Code::kExhausted,
                  "l3=strict: no L3 group has " + std::to_string(num) + " of its CPUs " + FormatIds(have));
    promised &= group->cpus;
    have &= group->cpus;
  }
  if (promised.Count() >= num) return TakeCpus(topology, RequestFor(books, promised, num));
  BERTH_TRY(const CpuSet rest, TakeNearest(books, promised, have - promised, num - promised.Count()));
  return promised | rest;
}

std::size_t TierOn(const PodBooks& books, const CpuSet& have, int num, const std::vector<CpuSet>& tiers,
                   const MaskHint& hint) {
  const auto has_all = [&](const CpuSet& tier) {
    if (have.empty()) return ChooseWholly(books, num, hint, tier).has_value();
    if (!have.IsSubsetOf(tier)) return false;
    const CpuSet free = FreeToGrow(books, have, num, tier);
    return (hint.any ? free : AlignedCpus(books, free, hint.mask)).Count() >= num;
  };
  std::size_t out = 0;
  while (out + 1 < tiers.size() && !has_all(tiers[out])) ++out;
  return out;
}

std::string L3ShortageOfMore(const PodBooks& books, const CpuSet& have, int num) {
  if (have.empty() || !InOneL3(books, have.Count() + num)) return "";
  const Unit* const group = GroupWith(books.tables->topology, have);
  if (group == nullptr)
    return "CPUs " + FormatIds(have) + " are of more than one L3 group, and " + Counted(have.Count() + num, "CPU") +
           " have to be of one";
  const int free = (TiersOf(books, GivableCpus(books)).back() & group->cpus).Count();
  if (free >= num) return "";
  return Counted(num, "CPU") + " more asked of the L3 group of CPUs " + FormatIds(have) + ", " + Counted(free, "CPU") +
         " of it " + (free == 1 ? "is" : "are") + " free";
}

bool FitsStrictL3(const PodBooks& books, const CpuSet& cpus) {
  return !InOneL3(books, cpus.Count()) || GroupWith(books.tables->topology, cpus) != nullptr;
}

}  // namespace berth::allocator
