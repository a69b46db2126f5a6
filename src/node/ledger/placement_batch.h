// Placement batch: decisions worked out one on the other on a copy of the newest books, proposed as one change.
#ifndef BERTH_NODE_LEDGER_PLACEMENT_BATCH_H_
#define BERTH_NODE_LEDGER_PLACEMENT_BATCH_H_

#include <cstdint>
#include <optional>
#include <string>

#include "allocator/engine.h"
#include "model/decision.h"
#include "model/ledger.h"
#include "node/ledger/node_allocations.h"
#include "node/ledger/placement_request.h"

namespace berth::ledger {

/// Takes nothing before its proposal is committed. Thread: the loop's only.
class PlacementBatch {
 public:
  /// Of the newest books of `allocations`, which outlives it.
  explicit PlacementBatch(const NodeAllocations& allocations);

  /// The newest books are those it was begun on, but for what Follow has taken: else what it decided may not stand.
  bool current() const { return base_ == allocations_->number(); }
  const allocator::Node& node() const { return node_; }
  const Ledger& ledger() const { return ledger_; }  ///< with all that it decided so far

  /// Decides, and takes what is admitted.
  Decision Decide(const PlacementRequest& request, Trace* trace);
  /// The pod gives back what it has; none: nothing.
  void Release(const std::string& uid);
  /// `request` was decided on the newest books and committed, and nothing else was since `current()`. Where it has
  /// nothing of its own, and comes to the same place here, the batch stands.
  void Follow(const PlacementRequest& request);
  /// nullopt: the newest books have the same pods. It is over then. Requires: current().
  std::optional<Proposal> Propose(std::string object) &&;

 private:
  const NodeAllocations* allocations_;
  allocator::Node node_;
  Ledger ledger_;
  std::uint64_t base_;
};

}  // namespace berth::ledger

#endif  // BERTH_NODE_LEDGER_PLACEMENT_BATCH_H_
