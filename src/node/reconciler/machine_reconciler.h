// The machine itself: CPUs that are new, and memory, NUMA nodes and huge pages that come and go while berthd runs.
#ifndef BERTH_NODE_RECONCILER_MACHINE_RECONCILER_H_
#define BERTH_NODE_RECONCILER_MACHINE_RECONCILER_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "allocator/engine.h"
#include "base/id_set.h"
#include "base/result.h"
#include "host/event_loop/executor.h"
#include "host/os/clock.h"
#include "node/cgroup_manager/enforcer.h"
#include "node/ledger/adopt.h"
#include "node/ledger/node_allocations.h"
#include "node/reconciler/pool_reconciler.h"
#include "node/reconciler/value_reconciler.h"
#include "telemetry/events/event_log.h"

namespace berth::reconciler {

/// The machine as it is now, under the settings there are.
struct LookedAt {
  allocator::Node node;
  std::string fingerprint;          ///< as checkpoint::Saved::machine_fingerprint
  std::vector<std::string> fitted;  ///< settings that had to be fitted to the machine, a sentence each
};

/// Ways to look; both are called on another thread. null: that is not looked at.
struct MachineOptions {
  std::function<Result<Machine>()> glance;                     ///< memory and huge pages alone: quick
  std::function<Result<LookedAt>(const Machine& known)> look;  ///< all of it; CPUs of `known` that are offline stay
};

/// A machine that changed is followed as a restart would: the ledger is made to fit it, saved, and put in force, with
/// an event that says what came and what went. Memory is followed when two looks in a row said the same, so that what
/// comes in many pieces comes at once. A machine that the settings do not fit is told, and not followed.
///
/// Thread: the loop's only.
class MachineReconciler {
 public:
  /// `pool` and `values` outlive this.
  MachineReconciler(ledger::NodeAllocations& allocations, cgroup_manager::Enforcer& groups, events::EventLog& events,
                    const os::Clock& clock, event_loop::Executor& executor, PoolReconciler& pool,
                    ValueReconciler& values, MachineOptions options)
      : allocations_(allocations),
        groups_(groups),
        events_(events),
        clock_(clock),
        executor_(executor),
        pool_(pool),
        values_(values),
        options_(std::move(options)) {}

  /// Looks, if it is time for it. Requires: the CPUs that are online were taken in.
  void Check(os::MonoTime now);

 private:
  void Glance(os::MonoTime now);
  void TakeGlance(Machine seen);
  void Look();
  void Take(Result<LookedAt> looked);
  void Refuse(const std::string& why);
  void Follow();
  void PutInForce(const allocator::Node& before, const std::vector<ledger::AdoptionNote>& lost);

  ledger::NodeAllocations& allocations_;
  cgroup_manager::Enforcer& groups_;
  events::EventLog& events_;
  const os::Clock& clock_;
  event_loop::Executor& executor_;
  PoolReconciler& pool_;
  ValueReconciler& values_;
  MachineOptions options_;
  bool busy_ = false;                 // a look or a save is under way
  std::optional<LookedAt> followed_;  // to be saved
  CpuSet looked_for_;                 // new CPUs that were looked for
  std::optional<Machine> glanced_;    // memory that differs, as it was last seen
  std::optional<Machine> settled_;    // memory that was looked at and is not followed
  std::vector<std::string> fitted_;   // told
  std::string failed_;                // why the last look was of no use; "": it was
  std::string told_;                  // the same, as told
  std::optional<os::MonoTime> retry_;
  os::MonoTime next_glance_{};
};

}  // namespace berth::reconciler

#endif  // BERTH_NODE_RECONCILER_MACHINE_RECONCILER_H_
