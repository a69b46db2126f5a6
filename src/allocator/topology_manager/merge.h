// Merging the topology hints of all resources of a container (or pod) into one: rules/topology#merging.
//
// The rules are the kubelet's; the cross product of the hint lists is never walked. See docs/design/alignment.md.
#ifndef BERTH_ALLOCATOR_TOPOLOGY_MANAGER_MERGE_H_
#define BERTH_ALLOCATOR_TOPOLOGY_MANAGER_MERGE_H_

#include <map>
#include <optional>
#include <vector>

#include "allocator/topology_manager/topology_policy.h"
#include "base/id_set.h"
#include "model/placement.h"

namespace berth::allocator {

struct MergeInput {
  NodeSet nodes;  ///< all nodes of the machine; at most Mask::kNodes
  /// Row per node: one distance per node of `nodes`, in ascending id order (not indexed by id: a difference from the
  /// kubelet on sparse ids). Only read when prefer_closest; a missing row or entry counts as unknown, worse than any.
  std::map<NumaId, std::vector<unsigned>> distances;
  TopologyPolicy policy = TopologyPolicy::kBestEffort;
  bool prefer_closest = false;  ///< ignored by single-numa-node
  /// One list per provider and resource; a provider without any resource adds one nullopt. nullopt: no preference;
  /// empty: impossible. Masks may only name nodes of `nodes`; others are dropped.
  std::vector<Hints> lists;
};

struct MergeResult {
  TopologyHint hint;
  bool admit = false;
  friend bool operator==(const MergeResult&, const MergeResult&) = default;
};

/// Merges. Under policy none the answer is "any node, not preferred", admitted.
MergeResult MergeHints(const MergeInput& input);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_TOPOLOGY_MANAGER_MERGE_H_
