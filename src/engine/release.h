// Giving back: spec cpu-topology-memory 2.18, 4.7 (AddContainer), 4.8.
#ifndef BERTH_ENGINE_RELEASE_H_
#define BERTH_ENGINE_RELEASE_H_

#include "engine/engine.h"
#include "engine/log.h"

namespace berth::engine {

/// What happens to memory that was booked where the blocks that are left cannot hold it (SettleMemory). kLose: nothing,
/// which is the kubelet's leak, for RecordedNode.
enum class Missing { kSettle, kLose };

/// Everything the pod holds. Requires: `record` is in the ledger.
LedgerDelta ReleasePod(const Node& node, const Ledger& ledger, const PodRecord& record, const Log& log,
                       Missing missing = Missing::kSettle);

}  // namespace berth::engine

#endif  // BERTH_ENGINE_RELEASE_H_
