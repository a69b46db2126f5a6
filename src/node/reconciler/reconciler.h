// Reconciler: drift of cgroups, CPUs and memory found and repaired; only what differs is written.
#ifndef BERTH_NODE_RECONCILER_RECONCILER_H_
#define BERTH_NODE_RECONCILER_RECONCILER_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/event_loop/executor.h"
#include "host/os/clock.h"
#include "host/os/write_watch.h"
#include "node/cgroup_manager/enforcer.h"
#include "node/ledger/node_allocations.h"
#include "node/pods/pod_table.h"
#include "node/reconciler/cpu_reconciler.h"
#include "node/reconciler/escaped_process_reconciler.h"
#include "node/reconciler/group_reconciler.h"
#include "node/reconciler/machine_reconciler.h"
#include "node/reconciler/pool_reconciler.h"
#include "node/reconciler/pressure_reconciler.h"
#include "node/reconciler/value_reconciler.h"
#include "runtime/lifecycle/runtime.h"
#include "telemetry/events/event_log.h"

namespace berth::reconciler {

struct ReconcilerOptions {
  CpuOptions cpus;
  MachineOptions machine;
  std::optional<EvictionOptions> eviction = EvictionOptions();  ///< nullopt: somebody else evicts pods
  /// Keep groups of pods that Berth did not make in the shared pool, instead of reporting them only.
  bool adopt_unknown = false;
};

/// The parts of the component, joined. Thread: the loop's only.
class Reconciler {
 public:
  /// All of the first line outlive this.
  Reconciler(ledger::NodeAllocations& allocations, cgroup_manager::Enforcer& groups, pods::PodTable& pods,
             runtime::Runtime& runtime, events::EventLog& events, const os::Clock& clock,
             event_loop::Executor& executor, ReconcilerOptions options)
      : eviction_(options.eviction),
        pool_(allocations, groups, pods, runtime, events),
        cpus_(allocations, groups, events, clock, pool_, std::move(options.cpus)),
        values_(allocations, groups, pods, events),
        machine_(allocations, groups, events, clock, executor, pool_, values_, std::move(options.machine)),
        groups_(allocations, groups, pods, events, pool_, options.adopt_unknown),
        pressure_(allocations, groups, pods, events),
        escaped_(allocations, groups, pods, events, executor) {}

  /// At the start, once groups are known. Errors: of settings.
  Result<void> Begin(os::MonoTime now);
  /// What others wrote since the last call.
  void OnWrites(os::WriteWatch::Writes writes, os::MonoTime now);
  /// What is due: CPUs, the machine, cpusets, what systemd wrote. `most`: between two looks at all cpusets.
  void Check(os::MonoTime now, os::Millis most, const os::Slice& slice);
  /// Check has more to do at once.
  bool working() const { return cpus_.working() || values_.working(); }
  os::MonoTime next_check() const { return cpus_.next_check(); }
  /// It is time to look at all values of groups, and for processes outside theirs.
  void LookAtValues(os::MonoTime now);
  /// Things an operator should know now, a sentence each.
  std::vector<std::string> Warnings() const;

  PoolReconciler& pool() { return pool_; }
  const PoolReconciler& pool() const { return pool_; }
  CpuReconciler& cpus() { return cpus_; }
  const CpuReconciler& cpus() const { return cpus_; }
  GroupReconciler& groups() { return groups_; }
  PressureReconciler& pressure() { return pressure_; }
  const PressureReconciler& pressure() const { return pressure_; }

 private:
  const std::optional<EvictionOptions> eviction_;
  PoolReconciler pool_;
  CpuReconciler cpus_;
  ValueReconciler values_;
  MachineReconciler machine_;
  GroupReconciler groups_;
  PressureReconciler pressure_;
  EscapedProcessReconciler escaped_;
};

}  // namespace berth::reconciler

#endif  // BERTH_NODE_RECONCILER_RECONCILER_H_
