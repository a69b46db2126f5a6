// Defragmentation plan: the moves that make pods fit: rules/defrag#search.
#ifndef BERTH_ALLOCATOR_DEFRAG_DEFRAG_PLAN_H_
#define BERTH_ALLOCATOR_DEFRAG_DEFRAG_PLAN_H_

#include <vector>

#include "allocator/allocation_state/inputs.h"
#include "allocator/node/engine_node.h"
#include "model/defrag.h"
#include "model/ledger.h"
#include "model/pod.h"

namespace berth::allocator {

struct DefragLimits {
  int moves = 3;       ///< in all
  int tries = 20'000;  ///< of moves and decisions, for each pod: a search over many of them has to end
};

/// Room for as many of the pods as so many moves make, the most important ones first; of equally important ones those
/// that need the fewest moves, then the least memory to migrate, then in the order given. For one pod nothing is moved
/// twice. Every claim was tried with Decide. Requires: as Decide; none of the pods is in the ledger.
DefragPlan PlanDefrag(const Node& node, const Ledger& ledger, const std::vector<Pod>& pods, const Inputs& inputs,
                      const DefragLimits& limits);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_DEFRAG_DEFRAG_PLAN_H_
