// The decision about a pod that has a place and shall use more or less: docs/rules/resize.md.
#ifndef BERTH_ENGINE_RESIZE_RESIZE_DECISION_H_
#define BERTH_ENGINE_RESIZE_RESIZE_DECISION_H_

#include "engine/books/inputs.h"
#include "engine/node/engine_node.h"
#include "engine/reason/failure.h"
#include "model/decision.h"
#include "model/ledger.h"
#include "model/pod.h"
#include "model/trace.h"

namespace berth::engine {

/// Decides what the pod of that uid has when it is as `pod` says: its apps and sidecars grow and shrink in CPUs and
/// memory, everything else it has stays. One that grows keeps every CPU it has, one that shrinks gets no other; memory
/// stays on its nodes. Requires: as Decide. On Reject (kDeferred, kInfeasible) nothing has changed.
Decision Resize(const Node& node, const Ledger& ledger, const Pod& pod, const Inputs& inputs, Trace* trace);

}  // namespace berth::engine

#endif  // BERTH_ENGINE_RESIZE_RESIZE_DECISION_H_
