#include "engine/align/aligner.h"

#include <algorithm>
#include <optional>

#include "engine/align/products.h"

namespace berth::engine {
namespace {

/// A distance nobody reported: further than any that was.
constexpr double kUnknownDistance = 1 << 20;

/// One list, split by what the merge asks of it.
struct List {
  std::vector<Mask> masks;        // distinct, ascending; the whole machine for "any"
  std::vector<Mask> preferred;    // distinct, ascending, without "any"
  bool any_preferred = false;     // a preferred "any" is there
  std::optional<Mask> narrowest;  // of those with a mask
};

void SortUnique(std::vector<Mask>& masks) {
  std::sort(masks.begin(), masks.end());
  masks.erase(std::unique(masks.begin(), masks.end()), masks.end());
}

List Split(const HintList& hints, Mask all, bool single_only) {
  std::vector<MaskHint> expanded = hints.hints;
  if (hints.kind == HintList::Kind::kNoPreference) expanded = {{0, true, true}};
  if (hints.kind == HintList::Kind::kHints && hints.hints.empty()) expanded = {{0, true, false}};
  List out;
  for (const MaskHint& hint : expanded) {
    if (single_only && (!hint.preferred || (!hint.any && CountOf(hint.mask) != 1))) continue;
    out.masks.push_back(hint.any ? all : hint.mask);
    if (hint.preferred && hint.any) out.any_preferred = true;
    if (hint.any) continue;
    if (hint.preferred) out.preferred.push_back(hint.mask);
    if (!out.narrowest || Narrower(hint.mask, *out.narrowest)) out.narrowest = hint.mask;
  }
  SortUnique(out.masks);
  SortUnique(out.preferred);
  return out;
}

/// Masks of preferred results: named by every list that has no preferred "any" (all masks of a preferred tuple are
/// equal), or the whole machine if no list names one.
std::vector<Mask> PreferredMasks(const std::vector<List>& lists, Mask all) {
  const List* fewest = nullptr;
  bool all_any = true;
  for (const List& list : lists) {
    if (list.any_preferred) continue;
    all_any = false;
    if (fewest == nullptr || list.preferred.size() < fewest->preferred.size()) fewest = &list;
  }
  std::vector<Mask> candidates;
  if (all_any) {
    candidates.push_back(all);
    for (const List& list : lists) candidates.insert(candidates.end(), list.preferred.begin(), list.preferred.end());
  } else {
    candidates = fewest->preferred;
  }
  std::erase_if(candidates, [&](Mask mask) {
    if (mask == 0) return true;
    return std::any_of(lists.begin(), lists.end(), [&](const List& list) {
      return !list.any_preferred && !std::binary_search(list.preferred.begin(), list.preferred.end(), mask);
    });
  });
  return candidates;
}

std::vector<Mask> ReachableMasks(const std::vector<List>& lists, Mask all, std::size_t nodes) {
  std::vector<Mask> reachable{all};
  for (const List& list : lists) reachable = AndProducts(reachable, list.masks, nodes);
  return reachable;
}

}  // namespace

double Aligner::AverageDistance(Mask mask) const {
  double sum = 0;
  ForEachBit(mask, [&](std::size_t from) {
    ForEachBit(mask, [&](std::size_t to) {
      const bool known = from < distances_.size() && to < distances_[from].size();
      sum += known ? static_cast<double>(distances_[from][to]) : kUnknownDistance;
    });
  });
  const double count = CountOf(mask);
  return sum / (count * count);
}

// Spec 3.5. A total order, so the merge may look at candidates in any order.
bool Aligner::Fitter(Mask a, Mask b) const {
  if (!closest_ || CountOf(a) != CountOf(b)) return Narrower(a, b);
  const double ax = AverageDistance(a);
  const double bx = AverageDistance(b);
  return ax != bx ? ax < bx : a < b;
}

// Spec 3.4, compare() for two results that are both not preferred: exactly `bnp` nodes first, then the most below it,
// then whatever fits best above. A total order too.
bool Aligner::BetterUnpreferred(Mask a, Mask b, int bnp) const {
  const int ca = CountOf(a);
  const int cb = CountOf(b);
  if ((ca > bnp) != (cb > bnp)) return cb > bnp;
  if (ca > bnp || ca == cb) return Fitter(a, b);
  return ca > cb;
}

Merged Aligner::Merge(const std::vector<HintList>& hint_lists) const {
  Merged out;
  if (policy_ == TopologyPolicy::kNone) return {{0, true, false}, true, "policy none aligns nothing"};
  const bool single = policy_ == TopologyPolicy::kSingleNumaNode;
  std::vector<List> lists;
  int bnp = 0;
  for (const HintList& hints : hint_lists) {
    lists.push_back(Split(hints, all_, single));
    if (lists.back().narrowest) bnp = std::max(bnp, CountOf(*lists.back().narrowest));
  }

  out.hint = {all_, false, false};
  out.rule = "no combination of hints has a node in common";
  std::vector<Mask> candidates = PreferredMasks(lists, all_);
  if (!candidates.empty()) {
    out.hint.mask =
        *std::min_element(candidates.begin(), candidates.end(), [&](Mask a, Mask b) { return Fitter(a, b); });
    out.hint.preferred = true;
    out.rule = closest_ ? "all resources prefer the same nodes; the fewest and closest won"
                        : "all resources prefer the same nodes; the fewest, lowest won";
  } else if (candidates = ReachableMasks(lists, all_, nodes_); !candidates.empty()) {
    out.hint.mask = *std::min_element(candidates.begin(), candidates.end(),
                                      [&](Mask a, Mask b) { return BetterUnpreferred(a, b, bnp); });
    out.rule = "no nodes are preferred by all resources; the common nodes closest to the widest minimum won";
  }
  if (single && out.hint.mask == all_) out.hint = {0, true, out.hint.preferred};
  out.admit = policy_ == TopologyPolicy::kBestEffort || out.hint.preferred;
  return out;
}

}  // namespace berth::engine
