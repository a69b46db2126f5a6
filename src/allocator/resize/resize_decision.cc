#include "allocator/resize/resize_decision.h"

#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "allocator/decision/release_pod.h"
#include "allocator/reason/decision_log.h"
#include "allocator/resize/resizing.h"

namespace berth::allocator {
namespace {

Reject WithReason(Reject reject, std::string_view reason, const DecisionLog& log) {
  if (log) log.Add("reject", reject.container, "", std::string(reason) + ": " + reject.message);
  reject.reason = reason;
  return reject;
}

/// It would be possible if no other pod had anything.
bool FitsAlone(const Node& node, Ledger ledger, const Pod& pod, const Inputs& inputs) {
  while (ledger.pods.size() > 1) {
    const auto other = ledger.pods.begin()->first == pod.uid ? std::next(ledger.pods.begin()) : ledger.pods.begin();
    const PodRecord gone = other->second;
    Apply(ledger, ReleasePod(node, ledger, gone, DecisionLog()));
  }
  Resizing alone(node, ledger, pod, inputs, DecisionLog());
  return !alone.WhyNever() && !alone.Run();
}

}  // namespace

Decision Resize(const Node& node, const Ledger& ledger, const Pod& pod, const Inputs& inputs, Trace* trace) {
  const DecisionLog log(trace);
  if (!ledger.pods.contains(pod.uid))
    return WithReason({.reason = "", .message = "the pod has no place here", .container = "", .details = {}},
                      kInfeasible, log);
  Resizing resizing(node, ledger, pod, inputs, log);
  if (auto never = resizing.WhyNever()) return WithReason(*std::move(never), kInfeasible, log);
  if (auto reject = resizing.Run()) {
    const bool later = reject->reason != kInfeasible && FitsAlone(node, ledger, pod, inputs);
    return WithReason(*std::move(reject), later ? kDeferred : kInfeasible, log);
  }
  return Admit{resizing.TakeDelta()};
}

}  // namespace berth::allocator
