// Pods that do not fit now: whether waiting helps, who may pass them, and who goes for a critical one.
#ifndef BERTH_ALLOCATOR_QUEUE_QUEUE_DECISIONS_H_
#define BERTH_ALLOCATOR_QUEUE_QUEUE_DECISIONS_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "allocator/allocation_state/inputs.h"
#include "allocator/node/engine_node.h"
#include "model/explanation.h"
#include "model/ledger.h"
#include "model/pod.h"

namespace berth::allocator {

/// It would not be admitted on the empty node either.
bool NeverFits(const Node& node, const Pod& pod, const Inputs& inputs);

/// Whether `first`, which waits, would be admitted on these books without the pods `gone` (uids; others are ignored).
/// The books are those after somebody else's admission: he may pass only if so (rules/queue#claim).
bool LeavesRoom(const Node& node, const Ledger& after, const std::set<std::string>& gone, const Pod& first,
                const Inputs& inputs);

/// Who may have to go for another pod.
struct Candidate {
  std::string uid;
  std::int32_t priority = 0;
};

/// Pods after whose release a critical one is admitted (rules/queue#critical): the fewest, of these sets the one whose
/// most important pod is the least important, then the second most. A pod counts for less than another of a higher
/// priority, then of a better QoS class, then that was admitted before. Critical candidates stay (kCriticalPriority).
/// nullopt: all of them together are not enough, or nobody has to go. Explain names the same ones when it is told the
/// candidates. Where a pod more that is gone makes the hints worse (2 in 10 000 random nodes), it may be another set of
/// as many. Tries at most some 1500 decisions; after these the set is marked as maybe not the smallest.
std::optional<Removal> WhoHasToGo(const Node& node, const Ledger& ledger, const Pod& pod, const Inputs& inputs,
                                  const std::vector<Candidate>& candidates);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_QUEUE_QUEUE_DECISIONS_H_
