#include "allocator/queue/no_place.h"

#include <optional>
#include <utility>

#include "model/node_conditions.h"

namespace berth::allocator {

WithoutPlace DecideWithoutPlace(const NodeNow& now, const Pod& pod, const Others& others) {
  using enum WithoutPlace::What;
  if (others.rules.preempt_for_critical && IsCritical(pod)) {
    if (!others.leaving.empty()) return {.what = kAwaitsLeaving};
    std::optional<Removal> victims = WhoHasToGo(now.node, now.ledger, pod, now.inputs, others.may_go);
    if (victims && !victims->pods.empty()) return {.what = kOthersGo, .victims = *std::move(victims)};
  }
  const bool waits = others.waiting < others.rules.most_waiting && !NeverFits(now.node, pod, now.inputs);
  return {.what = waits ? kWaitsForRoom : kRejected};
}

}  // namespace berth::allocator
