#include "engine/align/hints.h"

#include <algorithm>

namespace berth::engine {
namespace {

/// Nodes up to which all sets of a family are listed.
constexpr int kListedNodes = 10;

void AddAll(const HintFamily& family, std::vector<MaskHint>& out) {
  ForEachSubset(family.family.universe, [&](const Mask& mask) {
    if (family.Contains(mask)) out.push_back({mask, false, family.Prefers(mask)});
    return true;
  });
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

ListedHints ListHints(const HintList& list) {
  ListedHints out{.hints = list.hints};
  if (list.family && list.family->family.universe.Count() <= kListedNodes) {
    AddAll(*list.family, out.hints);
  } else if (list.family) {
    out.complete = false;
    AddNarrowest(*list.family, out.hints);
  }
  std::sort(out.hints.begin(), out.hints.end(), [](const MaskHint& a, const MaskHint& b) {
    if (a.any != b.any) return a.any;
    return a.mask != b.mask ? Narrower(a.mask, b.mask) : a.preferred && !b.preferred;
  });
  if (list.family) out.hints.erase(std::unique(out.hints.begin(), out.hints.end()), out.hints.end());
  return out;
}

}  // namespace berth::engine
