#include "allocator/queue/no_place.h"

#include <utility>

#include "model/node_conditions.h"

namespace berth::allocator {

namespace {

bool MayPreempt(const Pod& pod, const Others& others) { return others.rules.preempt_for_critical && IsCritical(pod); }

}  // namespace

std::optional<Removal> WhoGoesFor(const NodeNow& now, const Pod& pod, const Others& others) {
  if (!MayPreempt(pod, others)) return std::nullopt;
  return WhoHasToGo(now.node, now.ledger, pod, now.inputs, others.may_go);
}

bool MayWait(const NodeNow& now, const Pod& pod, const Others& others) {
  return others.waiting < others.rules.most_waiting && !NeverFits(now.node, pod, now.inputs);
}

WithoutPlace DecideWithoutPlace(const NodeNow& now, const Pod& pod, const Others& others) {
  using enum WithoutPlace::What;
  if (MayPreempt(pod, others) && !others.leaving.empty()) return {.what = kAwaitsLeaving};
  if (std::optional<Removal> victims = WhoGoesFor(now, pod, others))
    return {.what = kOthersGo, .victims = *std::move(victims)};
  return {.what = MayWait(now, pod, others) ? kWaitsForRoom : kRejected};
}

}  // namespace berth::allocator
