// Completion of a partial pod record in the ledger from the pod's manifest: names, requests, order and memory.
#ifndef BERTH_NODE_RECOVERY_COMPLETE_RECORD_H_
#define BERTH_NODE_RECOVERY_COMPLETE_RECORD_H_

#include <functional>
#include <string>
#include <vector>

#include "allocator/engine.h"
#include "model/ledger.h"
#include "model/pod.h"

namespace berth::recovery {

struct Completion {
  PodRecord record;
  std::vector<std::string> notes;  ///< what the pod asks for and does not have, a sentence each
};

/// The whole record of a pod that runs: CPUs and devices as in `partial`, names, requests and order from the manifest.
/// Memory that is not booked is booked on the nodes its container runs on (`mems`), where the memory policy pins it;
/// the node's counters do not know of it yet. Pure but for `mems`.
Completion CompleteRecord(const allocator::Node& node, const PodRecord& partial, const Pod& pod,
                          const std::function<NodeSet(const std::string& container)>& mems);

}  // namespace berth::recovery

#endif  // BERTH_NODE_RECOVERY_COMPLETE_RECORD_H_
