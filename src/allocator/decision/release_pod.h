// Release of a record that is at hand, with a log.
#ifndef BERTH_ALLOCATOR_DECISION_RELEASE_POD_H_
#define BERTH_ALLOCATOR_DECISION_RELEASE_POD_H_

#include "allocator/node/engine_node.h"
#include "allocator/reason/decision_log.h"
#include "model/ledger.h"

namespace berth::allocator {

/// What happens to memory that was booked where the blocks that are left cannot hold it (SettleMemory). kLose: nothing,
/// which is the kubelet's leak.
enum class Missing { kSettle, kLose };

/// Everything the pod holds. Requires: `record` is in the ledger.
LedgerDelta ReleasePod(const Node& node, const Ledger& ledger, const PodRecord& record, const DecisionLog& log,
                       Missing missing = Missing::kSettle);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_DECISION_RELEASE_POD_H_
