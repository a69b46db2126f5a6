// The decision about one pod.
#ifndef BERTH_ALLOCATOR_DECISION_DECIDE_H_
#define BERTH_ALLOCATOR_DECISION_DECIDE_H_

#include "allocator/allocation_state/inputs.h"
#include "allocator/node/engine_node.h"
#include "model/decision.h"
#include "model/ledger.h"
#include "model/pod.h"
#include "model/trace.h"

namespace berth::allocator {

/// Decides one pod. Idempotent for a pod that is already in the ledger (re-admission after a restart keeps what it
/// has). Requires: `ledger` was made from node.EmptyLedger() by deltas of this node (or adopted by state). On Reject
/// nothing is taken.
Decision Decide(const Node& node, const Ledger& ledger, const Pod& pod, const Inputs& inputs, Trace* trace);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_DECISION_DECIDE_H_
