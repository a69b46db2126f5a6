#include "allocator/topology_manager/hints.h"

#include <algorithm>
#include <iterator>

namespace berth::allocator {
namespace {

/// Nodes up to which all sets of a family are listed.
constexpr int kListedNodes = 10;

bool Listable(const HintFamily& family) { return family.family.universe.Count() <= kListedNodes; }

void AddAll(const HintFamily& family, std::vector<MaskHint>& out) {
  ForEachSubset(family.family.universe, [&](const Mask& mask) {
    if (family.Contains(mask)) out.push_back({mask, false, family.Prefers(mask)});
    return true;
  });
}

void AddPreferred(const HintFamily& family, std::vector<MaskHint>& out) {
  ForEachSubset(family.family.universe, [&](const Mask& mask) {
    if (family.Prefers(mask) && family.Contains(mask)) out.push_back({mask, false, true});
    return true;
  });
}

/// Narrowest first.
void SortUnique(std::vector<MaskHint>& hints, bool unique) {
  std::sort(hints.begin(), hints.end(), [](const MaskHint& a, const MaskHint& b) {
    if (a.any != b.any) return a.any;
    return a.mask != b.mask ? Narrower(a.mask, b.mask) : a.preferred && !b.preferred;
  });
  if (unique) hints.erase(std::unique(hints.begin(), hints.end()), hints.end());
}

void AddNarrowest(const HintFamily& family, std::vector<MaskHint>& out) {
  Cover::Request request{.allowed = family.family.universe, .must = family.family.must};
  for (const Need& need : family.family.needs) request.needs.push_back(&need);
  Steps steps;
  Cover cover(request, steps);
  std::optional<Mask> mask = cover.Fewest(1);
  if (!mask) mask = cover.Shrunk(1);
  if (mask) out.push_back({*mask, false, family.Prefers(*mask)});
}

}  // namespace

TopologyHint ToHint(const NodeIndex& nodes, const MaskHint& hint) {
  TopologyHint out;
  if (!hint.any) out.nodes = nodes.ToNodes(hint.mask);
  out.preferred = hint.preferred;
  return out;
}

ListedHints ListHints(const HintList& list) {
  ListedHints out{.hints = list.hints};
  if (list.family && Listable(*list.family)) {
    AddAll(*list.family, out.hints);
  } else if (list.family) {
    out.complete = false;
    AddNarrowest(*list.family, out.hints);
  }
  SortUnique(out.hints, list.family.has_value());
  return out;
}

ListedHints ListPreferredHints(const HintList& list) {
  ListedHints out{.complete = !list.family || Listable(*list.family)};
  if (!out.complete) return out;
  std::copy_if(list.hints.begin(), list.hints.end(), std::back_inserter(out.hints),
               [](const MaskHint& hint) { return hint.preferred; });
  if (list.family) AddPreferred(*list.family, out.hints);
  SortUnique(out.hints, list.family.has_value());
  return out;
}

}  // namespace berth::allocator
