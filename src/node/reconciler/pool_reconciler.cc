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
  Move(pool_event::Change());
  parts_.agenda.WakeNow();
}

void PoolReconciler::ChangedUntil(os::MonoTime when) {
  parts_.groups.cpusets().Restart();
  Move(pool_event::Change{when});
  parts_.agenda.WakeAt(when);
}

void PoolReconciler::Again() { Move(pool_event::Again()); }

std::optional<os::MonoTime> PoolReconciler::next_due(os::MonoTime now) const {
  if (const auto* const postponed = std::get_if<PoolPostponed>(&state_)) return postponed->until;
  return due() ? std::optional(now) : std::nullopt;
}

bool PoolReconciler::Apply(os::MonoTime now, const os::Slice& slice) {
  if (const auto at = next_due(now); !at || now < *at) return true;
  parts_.allocations.Settle();
  if (!parts_.allocations.durable()) {
    Move(pool_event::Postpone{std::max(now + kRetry, parts_.allocations.next_try())});
    return true;
  }
  const auto applied = PutInForce(slice);
  if (applied && !*applied) return false;
  if (applied) {
    Move(pool_event::Applied());
    return true;
  }
  if (parts_.groups.site().IsUnderWay(applied.error())) {
    Move(pool_event::Postpone{now + kAskAgain});
    return true;
  }
  const PoolTries* const tries = TriesOf(state_);
  if (applied.error().code == Code::kBusy && !parts_.groups.site().owns_containers() && tries != nullptr &&
      tries->looks < kLooks) {
    Move(pool_event::LookAgain{now + kBetweenLooks});
    return true;
  }
  std::string problem = applied.error().message + "; no container with CPUs of its own is started before that works";
  Move(pool_event::Fail{.until = now + kRetry, .problem = problem});
  parts_.events.Warning("FailedCgroupUpdate", parts_.ObjectOfNode(), std::move(problem));
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
  if (in_force()) return true;
  if (!parts_.allocations.durable()) return false;
  const auto narrowed = parts_.groups.cpusets().Narrow(parts_.allocations.ledger());
  return narrowed && *narrowed;
}

void PoolReconciler::NarrowAhead() {
  if (!in_force() || !parts_.allocations.saving()) return;  // the next Apply writes the ledger in force all the same
  Move(pool_event::Narrow());
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
  if (parts_.groups.site().owns_containers()) return true;
  BERTH_TRY(const auto cpus, parts_.groups.pod_groups().CpusNow(ledger));
  parts_.runtime.SetCpus(cpus);
  return true;
}

}  // namespace berth::reconciler
