// Trying a decision for a "would it fit if" question.
#ifndef BERTH_ALLOCATOR_EXPLAIN_ATTEMPT_H_
#define BERTH_ALLOCATOR_EXPLAIN_ATTEMPT_H_

#include <string>
#include <vector>

#include "allocator/allocation_state/inputs.h"
#include "allocator/node/engine_node.h"
#include "model/ledger.h"
#include "model/pod.h"

namespace berth::allocator {

/// One node, ledger and inputs to try pods on. Holds references; not kept. Thread: one.
class Attempt {
 public:
  /// Every `ahead_per_try` placements that a decision tries in looking ahead count as one decision more; 0: they do not
  /// count.
  Attempt(const Node& node, const Ledger& ledger, const Inputs& inputs, int ahead_per_try = 0)
      : node_(node), ledger_(ledger), inputs_(inputs), ahead_per_try_(ahead_per_try) {}

  const Node& node() const { return node_; }
  const Ledger& ledger() const { return ledger_; }
  const Inputs& inputs() const { return inputs_; }

  /// Decisions that may still be tried: a search over many of them has to end.
  int left() const { return left_; }
  void Allow(int tries) { left_ += tries; }
  /// The most of them that one decision has counted as so far.
  int dearest() const { return dearest_; }

  /// Decide admits the pod now. Also false when no tries are left: "no" is then "not found out".
  bool Admits(const Pod& pod) const;
  /// Decide admits the pod once these pods (uids) are gone. As above without tries.
  bool AdmitsWithout(const Pod& pod, const std::vector<std::string>& uids) const;

 private:
  const Node& node_;
  const Ledger& ledger_;
  const Inputs& inputs_;
  int ahead_per_try_;
  mutable int left_ = 0;
  mutable int dearest_ = 1;

  bool Try(const Ledger& ledger, const Pod& pod) const;
};

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_EXPLAIN_ATTEMPT_H_
