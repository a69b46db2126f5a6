// Decide with a log instead of a trace, for Explain.
#ifndef BERTH_ALLOCATOR_DECISION_DECIDE_LOGGED_H_
#define BERTH_ALLOCATOR_DECISION_DECIDE_LOGGED_H_

#include "allocator/allocation_state/inputs.h"
#include "allocator/node/engine_node.h"
#include "allocator/reason/decision_log.h"
#include "model/decision.h"
#include "model/ledger.h"
#include "model/pod.h"

namespace berth::allocator {

/// As Decide. `ahead`: where not null, it becomes the number of placements that were tried in looking ahead.
Decision DecideLogged(const Node& node, const Ledger& ledger, const Pod& pod, const Inputs& inputs,
                      const DecisionLog& log, int* ahead = nullptr);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_DECISION_DECIDE_LOGGED_H_
