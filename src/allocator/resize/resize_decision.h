// The decision about a pod that has a place and shall use more or less: docs/rules/resize.md.
#ifndef BERTH_ALLOCATOR_RESIZE_RESIZE_DECISION_H_
#define BERTH_ALLOCATOR_RESIZE_RESIZE_DECISION_H_

#include "allocator/allocation_state/inputs.h"
#include "allocator/node/engine_node.h"
#include "allocator/reason/failure.h"
#include "model/decision.h"
#include "model/ledger.h"
#include "model/pod.h"
#include "model/trace.h"

namespace berth::allocator {

/// Decides what the pod of that uid has when it is as `pod` says: its apps and sidecars grow and shrink in CPUs and
/// memory, everything else it has stays. One that grows keeps every CPU it has, one that shrinks gets no other; memory
/// stays on its nodes. Requires: as Decide. On Reject (kDeferred, kInfeasible) nothing has changed.
Decision Resize(const Node& node, const Ledger& ledger, const Pod& pod, const Inputs& inputs, Trace* trace);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_RESIZE_RESIZE_DECISION_H_
