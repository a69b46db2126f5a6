#include "allocator/topology_manager/reachable.h"

#include <algorithm>

#include "allocator/topology_manager/pack.h"
#include "allocator/topology_manager/products.h"

namespace berth::allocator {
namespace {

using Families = std::vector<const Family*>;

/// Masks that come out of hints listed one by one, and the families that are still to be AND-ed with them.
struct Partial {
  std::vector<Mask> masks;
  Families families;
};

std::vector<Mask> MasksOf(const HintList& list, const Mask& all) {
  std::vector<Mask> out;
  for (const MaskHint& hint : list.hints) out.push_back(hint.any ? all : hint.mask);
  if (list.kind == HintList::Kind::kNoPreference || list.Impossible()) out.push_back(all);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

Cover::Request RequestFor(const Family& family, const Distances* distances) {
  Cover::Request out{.allowed = family.universe, .must = family.must, .distances = distances};
  for (const Need& need : family.needs) out.needs.push_back(&need);
  return out;
}

/// Every set of the family, within its universe; the empty one too if it would do.
std::vector<Mask> AllSets(const Family& family) {
  const auto enough = [&](const Mask& mask) {
    return family.must.Within(mask) && std::all_of(family.needs.begin(), family.needs.end(),
                                                   [&](const Need& need) { return need.Of(mask) >= need.amount; });
  };
  std::vector<Mask> out;
  ForEachSubset(family.universe, [&](const Mask& mask) {
    if (enough(mask)) out.push_back(mask);
    return true;
  });
  return out;
}

class ReachableSearch {
 public:
  ReachableSearch(const std::vector<HintList>& lists, const Mask& all, const Fitness& fitness)
      : lists_(lists), all_(all), fitness_(fitness) {}

  Found Run() {
    FindWidestMinimum();
    std::vector<Partial> partials{{{all_}, {}}};
    for (const HintList& list : lists_) partials = AndWith(std::move(partials), list);
    for (const Partial& partial : partials) {
      Mask common = all_;
      for (const Family* family : partial.families) common &= family->universe;
      std::vector<Mask> within;
      for (const Mask& mask : partial.masks)
        if (mask.Meets(common)) within.push_back(mask & common);
      std::sort(within.begin(), within.end());
      within.erase(std::unique(within.begin(), within.end()), within.end());
      for (const Mask& mask : within) Leave(mask, partial.families);
    }
    found_.steps += steps_.used();
    return found_;
  }

 private:
  /// The count of the widest of the lists' narrowest sets.
  void FindWidestMinimum() {
    for (const HintList& list : lists_) {
      std::optional<int> narrowest;
      for (const MaskHint& hint : list.hints)
        if (!hint.any) narrowest = std::min(narrowest.value_or(hint.mask.Count()), hint.mask.Count());
      if (list.family && (!narrowest || *narrowest > 1)) {
        const int own = Narrowest(list.family->family);
        narrowest = std::min(narrowest.value_or(own), own);
      }
      bnp_ = std::max(bnp_, narrowest.value_or(0));
    }
  }

  int Narrowest(const Family& family) {
    Steps steps = Steps::For(family.universe);
    const Cover::Request request = RequestFor(family, nullptr);
    Cover cover(request, steps);
    std::optional<Mask> mask = cover.Fewest(1);
    found_.steps += steps.used();
    if (steps.Exceeded()) found_.exact = false;
    if (!mask) mask = cover.Shrunk(1);
    return mask ? mask->Count() : family.universe.Count();
  }

  /// A list that has both takes each of its copies from one or the other.
  std::vector<Partial> AndWith(std::vector<Partial> partials, const HintList& list) {
    if (list.family && list.hints.empty()) {
      for (Partial& partial : partials) partial.families.insert(partial.families.end(), list.copies(), Of(list));
      return partials;
    }
    const std::vector<Mask> masks = MasksOf(list, all_);
    std::vector<Partial> out;
    for (Partial& partial : partials) {
      for (std::size_t listed = 0; listed <= list.copies(); ++listed) {
        if (listed > 0) partial.masks = AndProducts(partial.masks, masks, found_.exact);
        if (!list.family && listed < list.copies()) continue;
        Partial& next = out.emplace_back(partial);
        next.families.insert(next.families.end(), list.copies() - listed, list.family ? Of(list) : nullptr);
      }
    }
    return out;
  }
  static const Family* Of(const HintList& list) { return &list.family->family; }

  void Offer(const Mask& mask) {
    if (!found_.mask || fitness_.BetterUnpreferred(mask, *found_.mask, bnp_)) found_.mask = mask;
  }

  /// The best of `within` that is left when each family leaves out what it can do without.
  void Leave(const Mask& within, const Families& families) {
    if (within.Count() <= bnp_ || families.empty()) return Offer(within);
    std::vector<Family> bins;
    for (const Family* family : families) bins.push_back(family->Within(within));
    const auto useless = [](const Family& bin) { return bin.must.empty() && bin.needs.empty(); };
    // A family that needs nothing here leaves out whatever is asked.
    if (const auto free = std::find_if(bins.begin(), bins.end(), useless); free != bins.end()) {
      bins.assign(1, Family(*free));
    } else {
      std::erase_if(bins, [&](const Family& bin) { return bin.must == within; });
    }
    if (bins.empty()) return Offer(within);
    if (bins.size() == 1) return LeaveByOne(bins.front(), within);
    LeaveByMany(bins, within);
  }

  void LeaveByOne(const Family& bin, const Mask& within) {
    Steps own = Steps::Unbounded();
    Steps& steps = within.Count() <= static_cast<int>(kExactNodes) ? own : steps_;
    const Cover::Request request = RequestFor(bin, fitness_.distances);
    Cover cover(request, steps);
    if (const auto mask = cover.Fewest(bnp_)) Offer(*mask);
    if (&steps == &own) found_.steps += own.used();
    if (!steps.Exceeded()) return;
    found_.exact = false;
    if (const auto mask = cover.Shrunk(bnp_)) Offer(*mask);
  }

  void LeaveByMany(const std::vector<Family>& bins, const Mask& within) {
    Pack pack(bins, within, fitness_.distances, steps_);
    for (int count = std::max(1, bnp_); count <= within.Count(); ++count) {
      const std::optional<Mask> mask = pack.Exactly(count);
      if (mask && (!steps_.Exceeded() || within.Count() > static_cast<int>(kExactNodes))) {
        if (steps_.Exceeded()) found_.exact = false;
        return Offer(*mask);
      }
      if (steps_.Exceeded()) break;
    }
    if (within.Count() <= static_cast<int>(kExactNodes)) return LeaveByTable(bins, within);
    found_.exact = false;
    Offer(within);
    for (int count = std::max(1, bnp_); count < within.Count(); ++count) {
      const std::optional<Mask> mask = pack.KeepHardest(count);
      if (!mask) continue;
      Offer(*mask);
      break;
    }
    for (const Family& bin : bins) LeaveByOneShort(bin, within);
  }

  /// Too many steps among few nodes: every set there is.
  void LeaveByTable(const std::vector<Family>& bins, const Mask& within) {
    std::vector<Mask> masks{within};
    for (const Family& bin : bins) masks = AndProducts(masks, AllSets(bin), found_.exact);
    for (const Mask& mask : masks) Offer(mask);
  }

  /// Too many steps among many nodes: what one family alone leaves.
  void LeaveByOneShort(const Family& bin, const Mask& within) {
    Steps steps;
    const Cover::Request request = RequestFor(bin, nullptr);
    Cover cover(request, steps);
    std::optional<Mask> mask = cover.Fewest(bnp_);
    if (!mask) mask = cover.Shrunk(bnp_);
    found_.steps += steps.used();
    Offer(mask.value_or(within));
  }

  const std::vector<HintList>& lists_;
  const Mask all_;
  const Fitness& fitness_;
  Steps steps_;
  int bnp_ = 0;
  Found found_;
};

}  // namespace

Found BestReachable(const std::vector<HintList>& lists, const Mask& all, const Fitness& fitness) {
  return ReachableSearch(lists, all, fitness).Run();
}

}  // namespace berth::allocator
