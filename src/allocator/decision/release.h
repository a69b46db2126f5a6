// Giving back: rules/cpu#release, rules/memory#init-end, rules/memory#release.
#ifndef BERTH_ALLOCATOR_DECISION_RELEASE_H_
#define BERTH_ALLOCATOR_DECISION_RELEASE_H_

#include <string_view>

#include "allocator/node/engine_node.h"
#include "model/ledger.h"
#include "model/trace.h"

namespace berth::allocator {

/// What comes back when a pod is gone: its CPUs, memory and devices. A pod that is not in the ledger gives a delta that
/// changes nothing.
LedgerDelta Release(const Node& node, const Ledger& ledger, std::string_view uid, Trace* trace);

/// A container of an admitted pod is about to start: the ordinary init containers before it are over and their memory
/// (not their CPUs) comes back (rules/memory#init-end). A delta that changes nothing if there is nothing to give.
LedgerDelta ContainerStarted(const Node& node, const Ledger& ledger, std::string_view uid, std::string_view container,
                             Trace* trace);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_DECISION_RELEASE_H_
