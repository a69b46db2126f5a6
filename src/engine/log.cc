#include "engine/log.h"

#include <algorithm>

#include "base/quantity.h"
#include "base/words.h"

namespace berth::engine {
namespace {

/// Hints spelled out in one sentence; the rest is counted.
constexpr std::size_t kHintsShown = 8;

std::vector<MaskHint> NarrowestFirst(std::vector<MaskHint> hints) {
  std::sort(hints.begin(), hints.end(), [](const MaskHint& a, const MaskHint& b) {
    if (a.any != b.any) return a.any;
    return a.mask != b.mask ? Narrower(a.mask, b.mask) : a.preferred && !b.preferred;
  });
  return hints;
}

std::string ListText(const NodeIndex& nodes, const HintList& list, const std::vector<MaskHint>& sorted) {
  if (list.kind == HintList::Kind::kNoPreference) return "no preference";
  if (sorted.empty()) return "fits on no set of nodes";
  std::string out = "fits on ";
  for (std::size_t i = 0; i < sorted.size() && i < kHintsShown; ++i)
    out += (i == 0 ? "" : "; ") + HintText(nodes, sorted[i]);
  if (sorted.size() > kHintsShown) out += "; and " + std::to_string(sorted.size() - kHintsShown) + " wider sets";
  return out;
}

TopologyHint ToHint(const NodeIndex& nodes, const MaskHint& hint) {
  TopologyHint out;
  if (!hint.any) out.nodes = nodes.ToNodes(hint.mask);
  out.preferred = hint.preferred;
  return out;
}

}  // namespace

void Log::AddHints(const NodeIndex& nodes, std::string_view container, const std::vector<HintList>& lists,
                   const Merged& merged) const {
  for (const HintList& list : lists) {
    const std::vector<MaskHint> sorted = NarrowestFirst(list.hints);
    Add("hints", container, list.resource, ListText(nodes, list, sorted));
    if (observation_ == nullptr) continue;
    ResourceHints& seen = observation_->hints.emplace_back();
    seen.container = container;
    seen.resource = list.resource;
    if (list.kind == HintList::Kind::kNoPreference) continue;
    seen.hints.emplace();
    for (const MaskHint& hint : sorted) seen.hints->push_back(ToHint(nodes, hint));
  }
  Add("merge", container, "", HintText(nodes, merged.hint) + ": " + std::string(merged.rule));
  if (observation_ != nullptr)
    observation_->merges.push_back(
        {std::string(container), ToHint(nodes, merged.hint), merged.admit, std::string(merged.rule)});
}

std::string NodesText(const NodeIndex& nodes, Mask mask) { return berth::NodesText(nodes.ToNodes(mask)); }

std::string HintText(const NodeIndex& nodes, const MaskHint& hint) {
  const std::string where = hint.any ? "any node" : NodesText(nodes, hint.mask);
  return where + (hint.preferred ? " (preferred)" : " (not preferred)");
}

std::string BytesText(std::int64_t bytes) { return Quantity::FromBytes({bytes}).ToString(); }

}  // namespace berth::engine
