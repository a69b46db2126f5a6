#include "allocator/topology_manager/aligner.h"

#include <algorithm>

#include "allocator/topology_manager/preferred.h"
#include "allocator/topology_manager/reachable.h"

namespace berth::allocator {

Merged Aligner::Merge(const std::vector<HintList>& lists, bool hint_of_refused,
                      std::optional<TopologyPolicy> instead) const {
  Merged out;
  const TopologyPolicy policy = instead.value_or(policy_);
  if (policy == TopologyPolicy::kNone) return {{{}, true, false}, true, "policy none aligns nothing"};
  const bool single = policy == TopologyPolicy::kSingleNumaNode;
  const bool closest = CountsDistances(policy);
  const Fitness fitness{closest ? &distances_ : nullptr};
  out.hint = {all_, false, false};
  out.rule = single ? "no single node is preferred by all resources" : "no combination of hints has a node in common";
  Found found = BestPreferred(lists, all_, fitness, single);
  out.exact = found.exact && std::all_of(lists.begin(), lists.end(), [](const HintList& list) { return list.exact; });
  out.steps = found.steps;
  if (found.mask) {
    out.hint = {*found.mask, false, true};
    out.rule = closest ? "all resources prefer the same nodes; the fewest and closest won"
                       : "all resources prefer the same nodes; the fewest, lowest won";
  } else if (!single && (hint_of_refused || policy == TopologyPolicy::kBestEffort)) {
    // With sets of one node only, a result that is not preferred has no node at all.
    found = BestReachable(lists, all_, fitness);
    out.exact = out.exact && found.exact;
    out.steps += found.steps;
    if (found.mask) {
      out.hint.mask = *found.mask;
      out.rule = "no nodes are preferred by all resources; the common nodes closest to the widest minimum won";
    } else if (keep_rest_ && policy == TopologyPolicy::kBestEffort) {
      KeepRest(lists, fitness, out);
    }
  }
  if (single && !out.hint.preferred && hint_of_refused)
    for (const HintList& list : lists)
      if (list.kind == HintList::Kind::kHints && !BestPreferred({list}, all_, fitness, true).mask)
        out.rule = "some resource fits on no single node";
  if (single && out.hint.mask == all_) out.hint = {{}, true, out.hint.preferred};
  out.admit = policy == TopologyPolicy::kBestEffort || out.hint.preferred;
  return out;
}

/// Without the one resource that costs the others least: the fewest nodes, the lowest, then the first resource.
void Aligner::KeepRest(const std::vector<HintList>& lists, const Fitness& fitness, Merged& out) const {
  std::optional<Mask> best;
  for (std::size_t left_out = 0; left_out < lists.size(); ++left_out) {
    if (lists[left_out].kind != HintList::Kind::kHints) continue;
    std::vector<HintList> rest = lists;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(left_out));
    if (std::ranges::none_of(rest, [](const HintList& list) { return list.kind == HintList::Kind::kHints; })) continue;
    const Found found = BestPreferred(rest, all_, fitness, false);
    out.exact = out.exact && found.exact;
    out.steps += found.steps;
    if (found.mask && (!best || Narrower(*found.mask, *best))) best = *found.mask;
  }
  if (!best) return;
  out.hint.mask = *best;
  out.rule = "one resource has no node in common with the others; these keep the nodes they all prefer";
}

std::vector<Mask> Aligner::Equals(const std::vector<HintList>& lists, const Mask& best, std::size_t most,
                                  std::optional<TopologyPolicy> policy) const {
  const bool closest = CountsDistances(policy.value_or(policy_));
  const std::optional<std::int64_t> sum = closest ? std::optional(distances_.Sum(best)) : std::nullopt;
  std::vector<Mask> out = PreferredSets(lists, all_, best.Count(), most);
  std::erase_if(out, [&](const Mask& mask) { return sum && distances_.Sum(mask) != *sum; });
  if (out.empty()) out.push_back(best);
  return out;
}

std::vector<Mask> Aligner::Preferred(const std::vector<HintList>& lists, std::size_t most,
                                     std::optional<TopologyPolicy> instead) const {
  const TopologyPolicy policy = instead.value_or(policy_);
  const Fitness fitness{CountsDistances(policy) ? &distances_ : nullptr};
  const int widest = policy == TopologyPolicy::kSingleNumaNode ? 1 : all_.Count();
  std::vector<Mask> out;
  for (int count = 1; count <= widest; ++count) {
    const std::vector<Mask> sets = PreferredSets(lists, all_, count, most);
    out.insert(out.end(), sets.begin(), sets.end());
  }
  std::ranges::sort(out, [&](const Mask& a, const Mask& b) { return fitness.Fitter(a, b); });
  return out;
}

}  // namespace berth::allocator
