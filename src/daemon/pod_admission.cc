// PodManager: decisions, the ledger and the pools they change.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "daemon/adopt.h"
#include "daemon/pod_manager.h"

namespace berth::daemon {
namespace {

constexpr os::Millis kFirstRetry{1'000};
constexpr os::Millis kLastRetry{30'000};
constexpr os::Millis kPoolRetry{1'000};

std::string DescribeAdmission(const PodRecord& record, const CpuSet& shared) {
  std::string out;
  for (const Placement& placement : record.placements) {
    std::vector<std::string> parts;
    if (placement.cpus) parts.push_back(fmt::format("CPUs {} for itself", FormatIds(*placement.cpus)));
    if (const NodeSet nodes = MemoryNodes(placement); !nodes.empty())
      parts.push_back(fmt::format("memory of {} {}", nodes.Count() == 1 ? "node" : "nodes", FormatIds(nodes)));
    for (const DeviceAssignment& device : placement.devices)
      parts.push_back(fmt::format("{} {}", device.resource, Join(device.ids, ",")));
    if (!parts.empty()) out += fmt::format("{} has {}, ", placement.container, Join(parts, " and "));
  }
  const bool exclusive = !ExclusiveCpus(record).empty();
  return out + (exclusive ? "the shared pool is " : "runs in the shared pool ") + FormatIds(shared);
}

}  // namespace

Result<void> PodManager::SaveAndTake(Ledger next) {
  next.shared = PoolOf(next);
  state::Saved saved{std::move(next), options_.boot_id, options_.machine_fingerprint};
  BERTH_RETURN_IF_ERROR(parts_.store.Save(saved));
  ledger_ = std::move(saved.ledger);
  adopted_ = false;
  pool_dirty_ = true;
  pool_retry_.reset();
  if (!save_problem_.empty())
    parts_.events.Normal("LedgerSaved", "node/" + options_.node_name, "the ledger can be saved again");
  save_problem_.clear();
  save_retry_.reset();
  save_delay_ = os::Millis(0);
  return {};
}

/// Nothing is started and nothing given back meanwhile; tried again with growing delays.
void PodManager::LedgerNotSaved(const Error& error, const std::string& object, os::MonoTime now) {
  save_delay_ = std::clamp(save_delay_ * 2, kFirstRetry, kLastRetry);
  save_retry_ = now + save_delay_;
  save_problem_ = error.message + "; no pod is started and no CPUs are given back before the ledger can be saved";
  parts_.events.Warning("LedgerNotSaved", object, save_problem_);
  WakeAt(*save_retry_);
}

bool PodManager::FinishedEarlier(ManagedPod& managed, os::MonoTime now) {
  if (!statuses_.contains(managed.pod.uid)) return false;
  managed.lifecycle.emplace(managed.pod, runtime::BackoffOptions{.max = node_.config().max_container_restart_period});
  RecoverStatuses(managed, now);
  runtime::PodLifecycle probe = *managed.lifecycle;
  // Only what the rules say counts here: leftovers in its groups are killed when these are removed.
  [[maybe_unused]] const runtime::Steps steps = probe.Next(now);
  if (!probe.finished()) return false;
  managed.lifecycle = std::move(probe);
  managed.stage = ManagedPod::Stage::kAdmitted;
  return true;
}

void PodManager::Reject(ManagedPod& managed, const berth::Reject& reject) {
  const bool others_are_ending = std::ranges::any_of(pods_, [&](const auto& entry) {
    return &entry.second != &managed && entry.second.ending && ledger_.pods.contains(entry.first);
  });
  managed.message = reject.message;
  managed.details = reject.details;
  if (others_are_ending) {  // decided again with what they give back
    managed.reason = "WaitingForRelease";
    return;
  }
  managed.reason = reject.reason;
  managed.stage = ManagedPod::Stage::kRejected;
  std::string text = reject.message;
  for (const std::string& detail : reject.details) text += "; " + detail;
  parts_.events.Warning(reject.reason, ObjectOf(managed.pod), std::move(text));
}

void PodManager::Admit(ManagedPod& managed, os::MonoTime now) {
  if (save_retry_ && now < *save_retry_) {
    if (managed.reason.empty()) {
      managed.reason = "LedgerNotSaved";
      managed.message = save_problem_;
    }
    return WakeAt(*save_retry_);
  }
  if (FinishedEarlier(managed, now)) return;
  if (eviction_ && !ledger_.pods.contains(managed.pod.uid) && !RunsSomething(managed.pod.uid)) {
    if (std::string why = eviction_->WhyNotAdmit(managed.pod); !why.empty()) {
      managed.reason = "NodeUnderPressure";
      managed.message = std::move(why);
      return WakeAt(next_eviction_);
    }
  }
  managed.trace = Trace();
  Decision decision = engine::Decide(node_, ledger_, managed.pod, {}, &managed.trace);
  if (const auto* reject = std::get_if<berth::Reject>(&decision)) {
    Reject(managed, *reject);
    if (managed.stage != ManagedPod::Stage::kRejected) return;
    if (managed.lifecycle) managed.lifecycle->Terminate(now);  // something of it runs without a place
    return;
  }
  Ledger next = ledger_;
  Apply(next, std::get<berth::Admit>(decision).delta);
  if (auto saved = SaveAndTake(std::move(next)); !saved) {
    LedgerNotSaved(saved.error(), ObjectOf(managed.pod), now);
    managed.reason = "LedgerNotSaved";
    managed.message = save_problem_;
    if (!RunsSomething(managed.pod.uid)) managed.lifecycle.reset();
    return;
  }
  managed.stage = ManagedPod::Stage::kAdmitted;
  managed.reason.clear();
  managed.message.clear();
  managed.details.clear();
  managed.admitted_at = os::FormatTime(parts_.clock.Wall());
  if (!managed.lifecycle)
    managed.lifecycle.emplace(managed.pod, runtime::BackoffOptions{.max = node_.config().max_container_restart_period});
  const auto record = ledger_.pods.find(managed.pod.uid);
  if (record != ledger_.pods.end())
    parts_.events.Normal("Admitted", ObjectOf(managed.pod),
                         DescribeAdmission(record->second, SharedCpus(node_, ledger_)));
}

bool PodManager::ReleasePlace(ManagedPod& managed, os::MonoTime now) {
  if (!ledger_.pods.contains(managed.pod.uid)) return true;
  if (save_retry_ && now < *save_retry_) {
    WakeAt(*save_retry_);
    return false;
  }
  Ledger next = ledger_;
  Apply(next, engine::Release(node_, ledger_, managed.pod.uid, nullptr));
  if (auto saved = SaveAndTake(std::move(next)); !saved) {
    LedgerNotSaved(saved.error(), ObjectOf(managed.pod), now);
    return false;
  }
  parts_.events.Normal("Released", ObjectOf(managed.pod),
                       "its place is free, the shared pool is " + FormatIds(SharedCpus(node_, ledger_)));
  return true;
}

/// Saves a ledger that was changed to fit the node: the kernel never follows one that is not on disk.
bool PodManager::SaveAdopted(os::MonoTime now) {
  if (!adopted_) return true;
  auto saved = SaveAndTake(ledger_);
  if (saved) return true;
  save_problem_ = saved.error().message + "; the shared pool stays as it was before the ledger can be saved";
  parts_.events.Warning("LedgerNotSaved", "node/" + options_.node_name, save_problem_);
  pool_retry_ = now + kPoolRetry;
  return false;
}

void PodManager::ApplyPool(os::MonoTime now) {
  if (!pool_dirty_ || (pool_retry_ && now < *pool_retry_)) return;
  if (!SaveAdopted(now)) return;
  auto applied = groups_.ApplyCpus(ledger_);
  if (applied)
    if (auto tiers = groups_.UpdateTiers(ledger_); !tiers) applied = std::unexpected(std::move(tiers).error());
  if (applied && parts_.runtime.makes_groups()) {
    if (auto cpus = groups_.ContainerCpusNow(ledger_); cpus)
      parts_.runtime.SetCpus(*cpus);
    else
      applied = std::unexpected(std::move(cpus).error());
  }
  if (applied) {
    pool_dirty_ = false;
    pool_retry_.reset();
    pool_problem_.clear();
    return;
  }
  pool_retry_ = now + kPoolRetry;
  pool_problem_ = applied.error().message + "; no container with CPUs of its own is started before that works";
  parts_.events.Warning("FailedCgroupUpdate", "node/" + options_.node_name, pool_problem_);
}

}  // namespace berth::daemon
