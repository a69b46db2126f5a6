// The decision about one container more, where a pod's containers become known one after another.
#ifndef BERTH_ALLOCATOR_DECISION_DECIDE_CONTAINER_H_
#define BERTH_ALLOCATOR_DECISION_DECIDE_CONTAINER_H_

#include <string_view>

#include "allocator/allocation_state/inputs.h"
#include "allocator/node/engine_node.h"
#include "model/decision.h"
#include "model/ledger.h"
#include "model/pod.h"
#include "model/trace.h"

namespace berth::allocator {

/// Decides `container` of a pod whose other containers keep what they have; `pod` has all that are known so far
/// (rules/topology#one-at-a-time). One that was an app in the ledger and is an ordinary init container in `pod` is
/// over: the CPUs it had may be used again. One that has its place keeps it, unless it was over and another has its
/// CPUs now. Requires: as Decide; `pod` has `container`, of whose limits alone devices may be, and what it is given of
/// them is not put into a ledger: it is never given back here. Where `inputs` has devices they are all its: if it is
/// rejected with the CPUs that may be used again, it is decided without these. On Reject nothing is taken.
Decision DecideContainer(const Node& node, const Ledger& ledger, const Pod& pod, std::string_view container,
                         const Inputs& inputs, Trace* trace);

/// Whether `container` asks for CPUs or pinned memory of its own. Devices that it has already change nothing for one
/// that does not.
bool AsksForOwn(const Node& node, const Pod& pod, std::string_view container);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_DECISION_DECIDE_CONTAINER_H_
