// The merge on dense masks, as the rest of the engine uses it. Rules: topology_manager/merge.h.
#ifndef BERTH_ALLOCATOR_TOPOLOGY_MANAGER_ALIGNER_H_
#define BERTH_ALLOCATOR_TOPOLOGY_MANAGER_ALIGNER_H_

#include <optional>
#include <string_view>
#include <vector>

#include "allocator/topology/mask.h"
#include "allocator/topology_manager/fitness.h"
#include "allocator/topology_manager/hints.h"
#include "allocator/topology_manager/search.h"
#include "allocator/topology_manager/topology_policy.h"

namespace berth::allocator {

struct Merged {
  MaskHint hint;
  bool admit = false;
  std::string_view rule;  ///< which rule decided, for the trace
  bool exact = true;      ///< false: a search ended at its limit, and the stand-in of docs/design/alignment.md answered
  std::int64_t steps = 0;  ///< of all searches together
};

/// Immutable; made once per machine and settings.
class Aligner {
 public:
  Aligner() = default;
  /// distances: by position.
  /// keep_rest: EngineOptions::keep_rest_aligned.
  Aligner(std::size_t nodes, TopologyPolicy policy, bool prefer_closest,
          const std::vector<std::vector<unsigned>>& distances = {}, bool keep_rest = false)
      : all_(Mask::Low(nodes)),
        policy_(policy),
        keep_rest_(keep_rest),
        closest_(prefer_closest),
        distances_(closest_ ? nodes : 0, distances) {}

  TopologyPolicy policy() const { return policy_; }
  /// `hint_of_refused`: also works out the hint where the policy refuses it, which only the reasons need; else it is
  /// all nodes then. `policy`: instead of the node's.
  Merged Merge(const std::vector<HintList>& lists, bool hint_of_refused = true,
               std::optional<TopologyPolicy> policy = std::nullopt) const;
  /// All sets that are as good as `best`, a preferred merged hint, but for their numbers: preferred by all lists,
  /// equally many nodes, as near each other where that counts. Ascending, with `best` in its place. Only `best` where
  /// more than `most` sets would have to be tried.
  std::vector<Mask> Equals(const std::vector<HintList>& lists, const Mask& best, std::size_t most,
                           std::optional<TopologyPolicy> policy = std::nullopt) const;
  /// All sets that all lists prefer, of one node only under single-numa-node: the fittest first. Sets of as many nodes
  /// as have more than `most` sets to try are left out. None where no list names nodes.
  std::vector<Mask> Preferred(const std::vector<HintList>& lists, std::size_t most,
                              std::optional<TopologyPolicy> policy = std::nullopt) const;

 private:
  void KeepRest(const std::vector<HintList>& lists, const Fitness& fitness, Merged& out) const;
  bool CountsDistances(TopologyPolicy policy) const { return closest_ && policy != TopologyPolicy::kSingleNumaNode; }

  Mask all_;
  TopologyPolicy policy_ = TopologyPolicy::kNone;
  bool keep_rest_ = false;
  bool closest_ = false;
  Distances distances_;
};

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_TOPOLOGY_MANAGER_ALIGNER_H_
