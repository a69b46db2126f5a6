// The ledger's CPUs in force in the kernel, after each change of it.
#ifndef BERTH_NODE_RECONCILER_POOL_RECONCILER_H_
#define BERTH_NODE_RECONCILER_POOL_RECONCILER_H_

#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "base/result.h"
#include "host/os/clock.h"
#include "node/cgroup_manager/enforcer.h"
#include "node/ledger/node_allocations.h"
#include "node/pods/pod_table.h"
#include "node/reconciler/pool_state.h"
#include "runtime/lifecycle/runtime.h"
#include "telemetry/events/event_log.h"

namespace berth::reconciler {

/// Thread: the loop's only.
class PoolReconciler {
 public:
  explicit PoolReconciler(ledger::NodeAllocations& allocations, cgroup_manager::Enforcer& groups, pods::PodTable& pods,
                          runtime::Runtime& runtime, events::EventLog& events)
      : allocations_(allocations), groups_(groups), pods_(pods), runtime_(runtime), events_(events) {}

  /// The kernel's cpusets may differ from the ledger: they are written at the next Apply, whatever failed before.
  void Changed();
  /// The same; nothing is written before `when`.
  void ChangedUntil(os::MonoTime when);
  /// What held it up may be over.
  void Again();
  /// Puts the ledger in force where it changed, once for all changes since: first what shrinks, then what grows. The
  /// kernel never follows a ledger that is not on disk: that is saved first. What fails is reported and tried again.
  /// False: the slice is over, and there is more to do; to be called again before anything is started.
  bool Apply(os::MonoTime now, const os::Slice& slice);
  /// Before an answer that somebody waits for: every container is off CPUs that are another's, whatever else Apply has
  /// to do (cgroup_manager::Cpusets::Narrow). False: that is not so before Apply has come to its end.
  bool Narrow();
  /// The same for what is being saved, while it is on its way to the disk: then Narrow finds it done. Nobody gets
  /// anything by it, so that a ledger which does not get there costs only what Apply writes after the next Changed.
  void NarrowAhead();
  /// Since then nothing has changed: containers may have less than the ledger in force says.
  bool ahead() const { return std::holds_alternative<InForceNarrowed>(state_); }
  /// The kernel keeps everybody off exclusive CPUs of others.
  bool in_force() const { return IsInForce(state_); }
  /// Changed, and nothing says that it has to wait.
  bool due() const { return std::holds_alternative<PoolDue>(state_); }
  /// When Apply has to be called; nullopt: when something changes.
  std::optional<os::MonoTime> next_due(os::MonoTime now) const;
  /// Why it is not in force; "": it is, or was not tried yet.
  std::string problem() const { return TriesOf(state_) != nullptr ? TriesOf(state_)->problem : ""; }

 private:
  void Move(PoolEvent event) { state_ = Follow(std::move(state_), std::move(event)); }
  Result<bool> PutInForce(const os::Slice& slice);
  Result<void> TellMixed(const Ledger& ledger);

  ledger::NodeAllocations& allocations_;
  cgroup_manager::Enforcer& groups_;
  pods::PodTable& pods_;
  runtime::Runtime& runtime_;
  events::EventLog& events_;
  PoolState state_;
  std::optional<CpuSet> told_;  // what the file for mixed containers says; nullopt: nothing of this berthd's
};

}  // namespace berth::reconciler

#endif  // BERTH_NODE_RECONCILER_POOL_RECONCILER_H_
