#include "allocator/reason/decision_log.h"

#include <algorithm>

#include "base/quantity.h"
#include "base/words.h"

namespace berth::allocator {
namespace {

/// Hints spelled out in one sentence; the rest is counted.
constexpr std::size_t kHintsShown = 8;

std::string ListText(const NodeIndex& nodes, const HintList& list, const ListedHints& listed) {
  const std::vector<MaskHint>& sorted = listed.hints;
  if (list.kind == HintList::Kind::kNoPreference) return "no preference";
  if (sorted.empty()) return "fits on no set of nodes";
  std::string out = "fits on ";
  for (std::size_t i = 0; i < sorted.size() && i < kHintsShown; ++i)
    out += (i == 0 ? "" : "; ") + HintText(nodes, sorted[i]);
  if (sorted.size() > kHintsShown) out += "; and " + std::to_string(sorted.size() - kHintsShown) + " wider sets";
  if (!listed.complete)
    out += "; and other sets of " + NodesText(nodes, list.family->family.universe) + ", preferred with " +
           Counted(list.family->preferred_count, "node");
  return out;
}

}  // namespace

void DecisionLog::AddHints(const NodeIndex& nodes, std::string_view container, const std::vector<HintList>& lists,
                           const Merged& merged) const {
  for (const HintList& list : lists) {
    const ListedHints listed = ListHints(list);
    for (const std::string& resource : list.resources) {
      Add("hints", container, resource, ListText(nodes, list, listed));
      if (observation_ == nullptr) continue;
      ResourceHints& seen = observation_->hints.emplace_back();
      seen.container = container;
      seen.resource = resource;
      if (list.kind == HintList::Kind::kNoPreference) continue;
      seen.hints.emplace();
      seen.complete = listed.complete;
      for (const MaskHint& hint : listed.hints) seen.hints->push_back(ToHint(nodes, hint));
    }
  }
  std::string rule(merged.rule);
  if (!merged.exact) rule += "; the search ended at its limit, so narrower-looking sets may have been passed over";
  Add("merge", container, "", HintText(nodes, merged.hint) + ": " + rule);
  if (observation_ != nullptr)
    observation_->merges.push_back({std::string(container), ToHint(nodes, merged.hint), merged.admit, std::move(rule)});
}

std::string NodesText(const NodeIndex& nodes, const Mask& mask) { return berth::NodesText(nodes.ToNodes(mask)); }

std::string HintText(const NodeIndex& nodes, const MaskHint& hint) {
  const std::string where = hint.any ? "any node" : NodesText(nodes, hint.mask);
  return where + (hint.preferred ? " (preferred)" : " (not preferred)");
}

std::string BytesText(std::int64_t bytes) { return Quantity::FromBytes({bytes}).ToString(); }

}  // namespace berth::allocator
