// Verification that what runs keeps to the ledger: checked on the outside, by code that knows nothing of how decisions
// are made. The ledger by itself: Contradictions in model/promises.h.
#ifndef BERTH_NODE_CHECKPOINT_VERIFY_H_
#define BERTH_NODE_CHECKPOINT_VERIFY_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/id_set.h"
#include "model/ledger.h"
#include "model/running.h"

namespace berth::checkpoint {

/// Every promise that what runs breaks, a sentence each; empty: all are kept. Pure.
///  - a container with exclusive CPUs may run on exactly those of them that are online, one without on the shared pool;
///  - no container may run on a CPU that another one has for itself;
///  - what runs has a place in the ledger, and what has a place that holds something exists on the node;
///  - what SIGKILL was sent to has ended;
///  - only pods of `known` hold a place (nullopt: nobody told which pods there are).
/// `online`: CPUs that are online; empty: not known. Under CPU policy none there is no pool, and containers without
/// exclusive CPUs may run on all CPUs nobody has for itself.
std::vector<std::string> VerifyRunning(const Ledger& ledger, const CpuSet& online,
                                       const std::vector<RunningGroup>& running,
                                       const std::optional<std::set<std::string>>& known);

}  // namespace berth::checkpoint

#endif  // BERTH_NODE_CHECKPOINT_VERIFY_H_
