// Decisions about pods, counted as a kubelet counts what its managers did.
#ifndef BERTH_NODE_LEDGER_DECISION_COUNTS_H_
#define BERTH_NODE_LEDGER_DECISION_COUNTS_H_

#include <chrono>
#include <string_view>

#include "allocator/engine.h"
#include "model/decision.h"
#include "model/node_figures.h"
#include "model/pod.h"

namespace berth::ledger {

/// Thread: one.
class DecisionCounts {
 public:
  DecisionCounts();

  /// `decision` about `pod` on `node` took `time`.
  void Count(const allocator::Node& node, const Pod& pod, const Decision& decision, std::chrono::nanoseconds time);
  /// It was counted, and is decided on again: a kubelet does not do that.
  void CountAgain(std::chrono::nanoseconds time);
  /// `reason`: as in the pod's status. A kubelet has a fixed list of them.
  void CountRejection(std::string_view reason);

  const DecisionFigures& figures() const { return figures_; }

 private:
  struct Rules;
  void CountPlacement(const Rules& rules, const allocator::Node& node, const Placement& placement);
  void CountContainer(const Rules& rules, bool cpus, bool memory);
  void CountReject(const Rules& rules, const Pod& pod, const Reject& reject);
  void CountFailed(const Rules& rules, bool cpus, bool memory, const Reject& reject);
  TriedCount& Aligned(const char* scope, const char* boundary) { return figures_.alignments[{scope, boundary}]; }

  DecisionFigures figures_;
};

}  // namespace berth::ledger

#endif  // BERTH_NODE_LEDGER_DECISION_COUNTS_H_
