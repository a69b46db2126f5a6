// Trying a decision for a "would it fit if" question.
#ifndef BERTH_ENGINE_ATTEMPT_H_
#define BERTH_ENGINE_ATTEMPT_H_

#include <string>
#include <vector>

#include "engine/engine.h"

namespace berth::engine {

/// One node, ledger and inputs to try pods on. Holds references; not kept.
class Attempt {
 public:
  Attempt(const Node& node, const Ledger& ledger, const Inputs& inputs)
      : node_(node), ledger_(ledger), inputs_(inputs) {}

  const Node& node() const { return node_; }
  const Ledger& ledger() const { return ledger_; }
  const Inputs& inputs() const { return inputs_; }

  /// Decide admits the pod now.
  bool Admits(const Pod& pod) const;
  /// Decide admits the pod once these pods (uids) are gone.
  bool AdmitsWithout(const Pod& pod, const std::vector<std::string>& uids) const;

 private:
  const Node& node_;
  const Ledger& ledger_;
  const Inputs& inputs_;
};

}  // namespace berth::engine

#endif  // BERTH_ENGINE_ATTEMPT_H_
