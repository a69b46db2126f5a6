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
  groups_.cpusets().Restart();
  Move(pool_event::Change());
  pods_.agenda().WakeNow();
}

void PoolReconciler::ChangedUntil(os::MonoTime when) {
  groups_.cpusets().Restart();
  Move(pool_event::Change{when});
  pods_.agenda().WakeAt(when);
}

void PoolReconciler::Again() { Move(pool_event::Again()); }

std::optional<os::MonoTime> PoolReconciler::next_due(os::MonoTime now) const {
  if (const auto* const postponed = std::get_if<PoolPostponed>(&state_)) return postponed->until;
  return due() ? std::optional(now) : std::nullopt;
}

bool PoolReconciler::Apply(os::MonoTime now, const os::Slice& slice) {
  if (const auto at = next_due(now); !at || now < *at) return true;
  allocations_.Settle();
  if (!allocations_.durable()) {
    Move(pool_event::Postpone{std::max(now + kRetry, allocations_.next_try())});
    return true;
  }
  const auto applied = PutInForce(slice);
  if (applied && !*applied) return false;
  if (applied) {
    Move(pool_event::Applied());
    return true;
  }
  if (groups_.site().IsUnderWay(applied.error())) {
    Move(pool_event::Postpone{now + kAskAgain});
    return true;
  }
  const PoolTries* const tries = TriesOf(state_);
  if (applied.error().code == Code::kBusy && groups_.ownership().runtime_writes() && tries != nullptr &&
      tries->looks < kLooks) {
    Move(pool_event::LookAgain{now + kBetweenLooks});
    return true;
  }
  std::string problem = applied.error().message + "; no container with CPUs of its own is started before that works";
  Move(pool_event::Fail{.until = now + kRetry, .problem = problem});
  events_.Warning("FailedCgroupUpdate", allocations_.ObjectOfNode(), std::move(problem));
  return true;
}

/// Containers with the shared pool beside their own CPUs read in a file what it is: one for all of them.
Result<void> PoolReconciler::TellMixed(const Ledger& ledger) {
  if (!pods::IsAnyoneTold(pods_.options(), ledger)) return {};
  CpuSet shared = groups_.planner().SharedNow(ledger, allocations_.online());
  if (told_ == shared) return {};
  BERTH_RETURN_IF_ERROR(pods::WritePool(pods_.options(), shared));
  told_ = std::move(shared);
  return {};
}

bool PoolReconciler::Narrow() {
  if (in_force()) return true;
  if (!allocations_.durable()) return false;
  const auto narrowed = groups_.cpusets().Narrow(allocations_.ledger());
  return narrowed && *narrowed;
}

void PoolReconciler::NarrowAhead() {
  if (!in_force() || !allocations_.saving()) return;  // the next Apply writes the ledger in force all the same
  Move(pool_event::Narrow());
  static_cast<void>(groups_.cpusets().Narrow(allocations_.newest()));
}

/// False: there is more to do.
Result<bool> PoolReconciler::PutInForce(const os::Slice& slice) {
  const Ledger& ledger = allocations_.ledger();
  bool done = false;
  while (!done) {
    BERTH_TRY(done, groups_.cpusets().Apply(ledger, slice));
    if (!done && slice.over()) return false;
  }
  BERTH_RETURN_IF_ERROR(groups_.qos_cgroups().Update(ledger));
  BERTH_RETURN_IF_ERROR(TellMixed(ledger));
  BERTH_RETURN_IF_ERROR(groups_.ownership().TellCpus(groups_.pod_groups(), ledger, runtime_));
  return true;
}

}  // namespace berth::reconciler
