// Decision log: passes the reasons of a decision to the caller's trace and, for Explain, hints, merges and shortages as
// values.
#ifndef BERTH_ALLOCATOR_REASON_DECISION_LOG_H_
#define BERTH_ALLOCATOR_REASON_DECISION_LOG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "allocator/reason/observation.h"
#include "allocator/topology/mask.h"
#include "allocator/topology_manager/aligner.h"
#include "model/trace.h"

namespace berth::allocator {

/// Cheap to copy. Test it before building text: a log without takers costs nothing.
class DecisionLog {
 public:
  DecisionLog() = default;
  explicit DecisionLog(Trace* trace, Observation* observation = nullptr) : trace_(trace), observation_(observation) {}

  explicit operator bool() const { return trace_ != nullptr || observation_ != nullptr; }

  void Add(std::string_view stage, std::string_view container, std::string_view resource, std::string text) const {
    if (trace_ != nullptr)
      trace_->Add(std::string(stage), std::string(container), std::string(resource), std::move(text));
  }
  /// The hints of all resources of a container (or pod: empty) and what came out of merging them.
  void AddHints(const NodeIndex& nodes, std::string_view container, const std::vector<HintList>& lists,
                const Merged& merged) const;
  /// What is short when a request is refused.
  void AddShortage(const Shortage& shortage) const {
    if (observation_ != nullptr) observation_->shortages.push_back(shortage);
  }

 private:
  Trace* trace_ = nullptr;
  Observation* observation_ = nullptr;
};

std::string NodesText(const NodeIndex& nodes, const Mask& mask);
std::string HintText(const NodeIndex& nodes, const MaskHint& hint);
/// "5Gi" for memory and huge pages.
std::string BytesText(std::int64_t bytes);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_REASON_DECISION_LOG_H_
