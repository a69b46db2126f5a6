#include "node/reconciler/pool_reconciler.h"

#include <algorithm>
#include <utility>

#include "node/pods/mixed_cpus.h"

namespace berth::reconciler {
namespace {

constexpr os::Millis kRetry{1'000};
constexpr int kLooks = 10;  // while a runtime is making a group
constexpr os::Millis kBetweenLooks{5};
constexpr os::Millis kAskAgain{100};  // while systemd is asked, whose answer is told

}  // namespace

void PoolReconciler::Changed() {
  parts_.groups.cpusets().Restart();
  dirty_ = true;
  ahead_ = false;
  retry_.reset();
  parts_.agenda.WakeNow();
}

void PoolReconciler::ChangedUntil(os::MonoTime when) {
  parts_.groups.cpusets().Restart();
  dirty_ = true;
  ahead_ = false;
  retry_ = when;
  parts_.agenda.WakeAt(when);
}

void PoolReconciler::Again() {
  if (dirty_) retry_.reset();
}

std::optional<os::MonoTime> PoolReconciler::next_due(os::MonoTime now) const {
  return dirty_ ? std::optional(retry_.value_or(now)) : std::nullopt;
}

bool PoolReconciler::Apply(os::MonoTime now, const os::Slice& slice) {
  if (!dirty_ || (retry_ && now < *retry_)) return true;
  parts_.allocations.Settle();
  if (!parts_.allocations.durable()) {
    retry_ = std::max(now + kRetry, parts_.allocations.next_try());
    return true;
  }
  const auto applied = PutInForce(slice);
  if (applied && !*applied) return false;
  if (applied) {
    dirty_ = false;
    looks_ = 0;
    retry_.reset();
    problem_.clear();
    return true;
  }
  if (parts_.groups.site().IsUnderWay(applied.error())) {
    retry_ = now + kAskAgain;
    return true;
  }
  if (applied.error().code == Code::kBusy && parts_.runtime.makes_groups() && looks_++ < kLooks) {
    retry_ = now + kBetweenLooks;  // the runtime is making a group
    return true;
  }
  looks_ = 0;
  retry_ = now + kRetry;
  problem_ = applied.error().message + "; no container with CPUs of its own is started before that works";
  parts_.events.Warning("FailedCgroupUpdate", parts_.ObjectOfNode(), problem_);
  return true;
}

/// Containers with the shared pool beside their own CPUs read in a file what it is: one for all of them.
Result<void> PoolReconciler::TellMixed(const Ledger& ledger) {
  if (!pods::IsAnyoneTold(parts_.options, ledger)) return {};
  CpuSet shared = parts_.groups.planner().SharedNow(ledger, parts_.allocations.online());
  if (told_ == shared) return {};
  BERTH_RETURN_IF_ERROR(pods::WritePool(parts_.options, shared));
  told_ = std::move(shared);
  return {};
}

bool PoolReconciler::Narrow() {
  if (!dirty_) return true;
  if (!parts_.allocations.durable()) return false;
  const auto narrowed = parts_.groups.cpusets().Narrow(parts_.allocations.ledger());
  return narrowed && *narrowed;
}

void PoolReconciler::NarrowAhead() {
  if (dirty_ || !parts_.allocations.saving()) return;  // the next Apply writes the ledger in force all the same
  ahead_ = true;
  static_cast<void>(parts_.groups.cpusets().Narrow(parts_.allocations.newest()));
}

/// False: there is more to do.
Result<bool> PoolReconciler::PutInForce(const os::Slice& slice) {
  const Ledger& ledger = parts_.allocations.ledger();
  bool done = false;
  while (!done) {
    BERTH_TRY(done, parts_.groups.cpusets().Apply(ledger, slice));
    if (!done && slice.over()) return false;
  }
  BERTH_RETURN_IF_ERROR(parts_.groups.qos_cgroups().Update(ledger));
  BERTH_RETURN_IF_ERROR(TellMixed(ledger));
  if (!parts_.runtime.makes_groups()) return true;
  BERTH_TRY(const auto cpus, parts_.groups.pod_groups().CpusNow(ledger));
  parts_.runtime.SetCpus(cpus);
  return true;
}

}  // namespace berth::reconciler
