// PodManager: pods that have to go because the node runs short.
#include <fmt/format.h>

#include <algorithm>

#include "daemon/pod_manager.h"

namespace berth::daemon {
namespace {

constexpr os::Millis kEvictionPeriod{10'000};
constexpr os::Millis kWhileOneGoes{1'000};
constexpr std::string_view kEvicted = "Evicted";

}  // namespace

void PodManager::OnMemoryPressure(os::MonoTime now) {
  next_eviction_ = std::min(next_eviction_, now);
  Sync(now);
}

void PodManager::CheckPressure(os::MonoTime now) {
  if (!eviction_ || now < next_eviction_) return;
  next_eviction_ = now + kEvictionPeriod;
  std::vector<const Pod*> pods;
  bool going = false;
  for (const auto& [uid, managed] : pods_) {
    if (managed.lifecycle && (managed.ending || managed.reason == kEvicted)) going = true;
    if (managed.lifecycle && managed.claimed && !managed.ending && managed.stage == ManagedPod::Stage::kAdmitted)
      pods.push_back(&managed.pod);
  }
  const bool memory = eviction_->memory_pressure();
  const bool pids = eviction_->pid_pressure();
  const EvictionLook look = eviction_->Look(pods, now);
  if (const auto act = eviction_->next_act()) next_eviction_ = std::min(next_eviction_, *act);
  ReportPressure("Memory", memory, eviction_->memory_pressure());
  ReportPressure("PID", pids, eviction_->pid_pressure());
  if (look.met && going) {  // what is going may be enough
    next_eviction_ = now + kWhileOneGoes;
  } else if (look.met) {
    Evict(look, now);
  }
}

void PodManager::ReportPressure(std::string_view what, bool before, bool now) {
  const std::string node = "node/" + options_.node_name;
  if (now && !before)
    parts_.events.Warning(fmt::format("NodeHas{}Pressure", what), node, fmt::format("{}Pressure began", what));
  if (before && !now)
    parts_.events.Normal(fmt::format("NodeHasNo{}Pressure", what), node, fmt::format("{}Pressure is over", what));
}

void PodManager::Evict(const EvictionLook& look, os::MonoTime now) {
  const evict::Met& met = *look.met;
  parts_.events.Warning(
      "EvictionThresholdMet", "node/" + options_.node_name,
      fmt::format("Attempting to reclaim {}: {} is {}, threshold {}{}", evict::Resource(met.threshold.signal),
                  evict::Name(met.threshold.signal), met.available, met.least, look.victim ? "" : "; no pod can help"));
  const auto found = look.victim ? pods_.find(look.victim->uid) : pods_.end();
  if (found == pods_.end()) return;
  ManagedPod& managed = found->second;
  managed.stage = ManagedPod::Stage::kRejected;
  managed.reason = kEvicted;
  managed.message = look.victim->message;
  managed.details.clear();
  managed.lifecycle->Terminate(now, look.victim->grace);
  parts_.events.Warning(std::string(kEvicted), ObjectOf(managed.pod), look.victim->message);
  next_eviction_ = now + kWhileOneGoes;
}

}  // namespace berth::daemon
