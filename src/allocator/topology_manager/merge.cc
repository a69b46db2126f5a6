#include "allocator/topology_manager/merge.h"

#include "allocator/topology_manager/aligner.h"

namespace berth::allocator {
namespace {

HintList ToList(const NodeIndex& index, const Hints& hints) {
  HintList out;
  if (!hints) return out;
  out.kind = HintList::Kind::kHints;
  for (const TopologyHint& hint : *hints)
    out.hints.push_back({hint.nodes ? index.ToMask(*hint.nodes) : Mask(), !hint.nodes, hint.preferred});
  return out;
}

}  // namespace

MergeResult MergeHints(const MergeInput& input) {
  const NodeIndex index(input.nodes);
  std::vector<std::vector<unsigned>> distances(index.size());
  for (std::size_t i = 0; i < index.size(); ++i)
    if (const auto row = input.distances.find(index.id(i)); row != input.distances.end()) distances[i] = row->second;
  const Aligner aligner(index.size(), input.policy, input.prefer_closest, distances);
  std::vector<HintList> lists;
  for (const Hints& hints : input.lists) lists.push_back(ToList(index, hints));
  const Merged merged = aligner.Merge(lists);
  MergeResult out;
  if (!merged.hint.any) out.hint.nodes = index.ToNodes(merged.hint.mask);
  out.hint.preferred = merged.hint.preferred;
  out.admit = merged.admit;
  return out;
}

}  // namespace berth::allocator
