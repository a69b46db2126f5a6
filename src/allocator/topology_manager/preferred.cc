#include "allocator/topology_manager/preferred.h"

#include <algorithm>

namespace berth::allocator {
namespace {

/// One list, as far as it prefers something.
struct List {
  const HintFamily* family = nullptr;
  std::vector<Mask> masks;  // preferred ones of those listed, ascending
  bool any = false;         // a preferred "any"

  bool Prefers(const Mask& mask) const {
    return std::binary_search(masks.begin(), masks.end(), mask) ||
           (family != nullptr && family->Contains(mask) && family->Prefers(mask));
  }
};

List Split(const HintList& hints) {
  List out;
  out.any = hints.kind == HintList::Kind::kNoPreference;
  if (hints.family) out.family = &*hints.family;
  for (const MaskHint& hint : hints.hints) {
    if (!hint.preferred) continue;
    out.any = out.any || hint.any;
    if (!hint.any && !hint.mask.empty()) out.masks.push_back(hint.mask);
  }
  std::sort(out.masks.begin(), out.masks.end());
  return out;
}

/// Sets that all lists prefer through their families: the search for each size that may be preferred.
class FamilySearch {
 public:
  FamilySearch(const std::vector<List>& lists, const Fitness& fitness) {
    request_.allowed = Mask::Low(Mask::kNodes);
    for (const List& list : lists) {
      if (list.any) continue;
      families_.push_back(list.family);
      request_.allowed &= list.family->family.universe;
      request_.must |= list.family->family.must;
      for (const Need& need : list.family->family.needs) request_.needs.push_back(&need);
    }
    request_.distances = fitness.distances;
  }

  Found Run() {
    Found out;
    if (request_.allowed.empty() || !request_.must.Within(request_.allowed)) return out;
    Steps steps = Steps::For(request_.allowed);
    for (int count = 1; count <= request_.allowed.Count() && !out.mask; ++count) {
      if (!SetRule(count)) continue;
      Cover cover(request_, steps);
      out.mask = cover.Exactly(count);
      if (!steps.Exceeded()) continue;
      out.exact = false;
      if (!out.mask) out.mask = StandIn(cover, count);
      break;
    }
    out.steps = steps.used();
    return out;
  }

 private:
  /// Which sets of so many nodes all families prefer; false: none.
  bool SetRule(int count) {
    request_.touch = nullptr;
    for (const HintFamily* family : families_) {
      if (family->preferred_count == count) continue;
      // Only CPUs have such a rule, so there is one at the most.
      if (!family->preferred_touch || request_.touch != nullptr) return false;
      request_.touch = &*family->preferred_touch;
    }
    return true;
  }

  std::optional<Mask> StandIn(const Cover& cover, int count) const {
    const std::optional<Mask> mask = cover.Shrunk(count);
    if (!mask || mask->Count() != count) return std::nullopt;
    if (request_.touch != nullptr && request_.touch->Touched(*mask) != request_.touch->wanted) return std::nullopt;
    return mask;
  }

  Cover::Request request_;
  std::vector<const HintFamily*> families_;
};

/// There are no more than `most` sets of `count` out of `nodes` nodes.
bool AtMost(int nodes, int count, std::size_t most) {
  std::size_t sets = 1;
  for (int i = 0; i < std::min(count, nodes - count); ++i) {
    sets = sets * static_cast<std::size_t>(nodes - i) / static_cast<std::size_t>(i + 1);
    if (sets > most) return false;
  }
  return sets <= most;
}

/// Calls visit(mask) for every set of `count` nodes of `within`.
template <class Visit>
void ForEachSetOf(int count, const Mask& within, const Visit& visit, const Mask& with = {}) {
  if (count == 0) return visit(with);
  if (within.Count() < count) return;
  Mask rest = within;
  within.ForEach([&](std::size_t node) {
    rest.Drop(node);
    Mask more = with;
    more.Add(node);
    ForEachSetOf(count - 1, rest, visit, more);
  });
}

}  // namespace

Found BestPreferred(const std::vector<HintList>& hint_lists, const Mask& all, const Fitness& fitness, bool single) {
  std::vector<List> lists;
  const List* fewest = nullptr;  // of those without a family
  bool all_any = true;
  bool all_families = true;
  for (const HintList& hints : hint_lists) lists.push_back(Split(hints));
  for (const List& list : lists) {
    if (list.any) continue;
    all_any = false;
    if (list.family != nullptr) continue;
    all_families = false;
    if (fewest == nullptr || list.masks.size() < fewest->masks.size()) fewest = &list;
  }

  Found out;
  const auto offer = [&](const Mask& mask) {
    if (out.mask && !fitness.Fitter(mask, *out.mask)) return;
    if (std::all_of(lists.begin(), lists.end(), [&](const List& list) { return list.any || list.Prefers(mask); }))
      out.mask = mask;
  };
  const auto offer_all = [&](const std::vector<Mask>& masks) {
    for (const Mask& mask : masks)
      if (!single || mask.Count() == 1) offer(mask);
  };
  if (all_any) offer(all);
  if (fewest != nullptr) {
    offer_all(fewest->masks);
  } else {
    for (const List& list : lists)
      if (all_any || !list.any) offer_all(list.masks);
  }
  if (all_any || !all_families) return out;
  if (single) {
    all.ForEach([&](std::size_t node) { offer(Mask::Of(node)); });
    return out;
  }
  Found searched = FamilySearch(lists, fitness).Run();
  if (searched.mask && (!out.mask || fitness.Fitter(*searched.mask, *out.mask))) out.mask = searched.mask;
  out.exact = searched.exact;
  out.steps = searched.steps;
  return out;
}

std::vector<Mask> PreferredSets(const std::vector<HintList>& hint_lists, const Mask& all, int count, std::size_t most) {
  std::vector<List> lists;
  Mask common = all;
  for (const HintList& hints : hint_lists) {
    List list = Split(hints);
    if (list.any) continue;
    Mask named = list.family == nullptr ? Mask() : list.family->family.universe;
    for (const Mask& mask : list.masks) named |= mask;
    common &= named;
    lists.push_back(std::move(list));
  }
  std::vector<Mask> out;
  if (lists.empty() || !AtMost(common.Count(), count, most)) return out;
  ForEachSetOf(count, common, [&](const Mask& mask) {
    if (std::ranges::all_of(lists, [&](const List& list) { return list.Prefers(mask); })) out.push_back(mask);
  });
  std::ranges::sort(out);
  return out;
}

}  // namespace berth::allocator
