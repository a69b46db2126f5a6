// Explanation of a decision: the reasons for a pod's placement or rejection, and what would help. Every claim was tried
// with Decide before it is made.
#ifndef BERTH_ALLOCATOR_EXPLAIN_EXPLAIN_H_
#define BERTH_ALLOCATOR_EXPLAIN_EXPLAIN_H_

#include "allocator/allocation_state/inputs.h"
#include "allocator/node/engine_node.h"
#include "model/explanation.h"
#include "model/ledger.h"
#include "model/pod.h"

namespace berth::allocator {

/// Decides `pod` as Decide does and explains it. Requires: as Decide.
Explanation Explain(const Node& node, const Ledger& ledger, const Pod& pod, const Inputs& inputs);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_EXPLAIN_EXPLAIN_H_
