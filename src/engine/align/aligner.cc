#include "engine/align/aligner.h"

#include <algorithm>

#include "engine/align/preferred.h"
#include "engine/align/reachable.h"

namespace berth::engine {

Merged Aligner::Merge(const std::vector<HintList>& lists, bool hint_of_refused) const {
  Merged out;
  if (policy_ == TopologyPolicy::kNone) return {{{}, true, false}, true, "policy none aligns nothing"};
  const bool single = policy_ == TopologyPolicy::kSingleNumaNode;
  const Fitness fitness{closest_ ? &distances_ : nullptr};
  out.hint = {all_, false, false};
  out.rule = single ? "no single node is preferred by all resources" : "no combination of hints has a node in common";
  Found found = BestPreferred(lists, all_, fitness, single);
  out.exact = found.exact && std::all_of(lists.begin(), lists.end(), [](const HintList& list) { return list.exact; });
  out.steps = found.steps;
  if (found.mask) {
    out.hint = {*found.mask, false, true};
    out.rule = closest_ ? "all resources prefer the same nodes; the fewest and closest won"
                        : "all resources prefer the same nodes; the fewest, lowest won";
  } else if (!single && (hint_of_refused || policy_ == TopologyPolicy::kBestEffort)) {
    // With sets of one node only, a result that is not preferred has no node at all.
    found = BestReachable(lists, all_, fitness);
    out.exact = out.exact && found.exact;
    out.steps += found.steps;
    if (found.mask) {
      out.hint.mask = *found.mask;
      out.rule = "no nodes are preferred by all resources; the common nodes closest to the widest minimum won";
    }
  }
  if (single && !out.hint.preferred && hint_of_refused)
    for (const HintList& list : lists)
      if (list.kind == HintList::Kind::kHints && !BestPreferred({list}, all_, fitness, true).mask)
        out.rule = "some resource fits on no single node";
  if (single && out.hint.mask == all_) out.hint = {{}, true, out.hint.preferred};
  out.admit = policy_ == TopologyPolicy::kBestEffort || out.hint.preferred;
  return out;
}

std::vector<Mask> Aligner::Equals(const std::vector<HintList>& lists, const Mask& best, std::size_t most) const {
  const std::optional<std::int64_t> sum = closest_ ? std::optional(distances_.Sum(best)) : std::nullopt;
  std::vector<Mask> out = PreferredSets(lists, all_, best.Count(), most);
  std::erase_if(out, [&](const Mask& mask) { return sum && distances_.Sum(mask) != *sum; });
  if (out.empty()) out.push_back(best);
  return out;
}

}  // namespace berth::engine
