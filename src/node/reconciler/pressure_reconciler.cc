#include "node/reconciler/pressure_reconciler.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

namespace berth::reconciler {
namespace {

constexpr os::Millis kLookPeriod{10'000};
constexpr os::Millis kWhileOneGoes{1'000};

/// What goes already may be enough.
bool Goes(const pods::ManagedPod& managed) {
  return managed.lifecycle && (managed.Is<pods::Ending>() || managed.why().reason == pods::kEvictedReason);
}

}  // namespace

Result<void> PressureReconciler::Begin(const std::optional<EvictionOptions>& options) {
  if (!options) return {};
  BERTH_TRY(Eviction eviction, Eviction::Make(allocations_.node().config(), groups_, options->ignores_cache));
  eviction_.emplace(std::move(eviction));
  return {};
}

std::string PressureReconciler::WhyNotAdmit(const Pod& pod) const {
  std::string why = eviction_ ? eviction_->WhyNotAdmit(pod) : "";
  if (!why.empty()) pods_.agenda().WakeAt(next_);
  return why;
}

void PressureReconciler::Check(os::MonoTime now) {
  if (!eviction_ || now < next_) return;
  next_ = now + kLookPeriod;
  std::vector<const Pod*> candidates;
  bool going = false;
  for (const auto& [uid, managed] : pods_.pods()) {
    going = going || Goes(managed);
    if (managed.lifecycle && managed.claimed && managed.Is<pods::Admitted>()) candidates.push_back(&managed.pod);
  }
  const bool memory = eviction_->memory_pressure();
  const bool pids = eviction_->pid_pressure();
  const EvictionLook look = eviction_->Look(candidates, now);
  if (const auto act = eviction_->next_act()) next_ = std::min(next_, *act);
  Report("Memory", memory, eviction_->memory_pressure());
  Report("PID", pids, eviction_->pid_pressure());
  if (look.met && going) {  // what is going may be enough
    next_ = now + kWhileOneGoes;
  } else if (look.met) {
    Evict(look, now);
  }
}

void PressureReconciler::Report(std::string_view what, bool before, bool now) {
  const std::string node = allocations_.ObjectOfNode();
  if (now && !before)
    events_.Warning(fmt::format("NodeHas{}Pressure", what), node, fmt::format("{}Pressure began", what));
  if (before && !now)
    events_.Normal(fmt::format("NodeHasNo{}Pressure", what), node, fmt::format("{}Pressure is over", what));
}

void PressureReconciler::Evict(const EvictionLook& look, os::MonoTime now) {
  const eviction::Met& met = *look.met;
  events_.Warning("EvictionThresholdMet", allocations_.ObjectOfNode(),
                  fmt::format("Attempting to reclaim {}: {} is {}, threshold {}{}",
                              eviction::Resource(met.threshold.signal), eviction::Name(met.threshold.signal),
                              met.available, met.least, look.victim ? "" : "; no pod can help"));
  const auto found = look.victim ? pods_.pods().find(look.victim->uid) : pods_.pods().end();
  if (found == pods_.pods().end()) return;
  pods::ManagedPod& managed = found->second;
  pods::Evict(managed, look.victim->message, look.victim->grace, now);
  events_.Warning(std::string(pods::kEvictedReason), pods::ObjectOf(managed.pod), look.victim->message);
  next_ = now + kWhileOneGoes;
}

}  // namespace berth::reconciler
