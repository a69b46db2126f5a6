// Reconciler: drift of cgroups, CPUs and memory found and repaired; only what differs is written.
#ifndef BERTH_NODE_RECONCILER_RECONCILER_H_
#define BERTH_NODE_RECONCILER_RECONCILER_H_

#include <string>
#include <utility>
#include <vector>

#include "host/os/clock.h"
#include "host/os/write_watch.h"
#include "node/pods/parts.h"
#include "node/reconciler/cpu_reconciler.h"
#include "node/reconciler/escaped_process_reconciler.h"
#include "node/reconciler/group_reconciler.h"
#include "node/reconciler/machine_reconciler.h"
#include "node/reconciler/pool_reconciler.h"
#include "node/reconciler/pressure_reconciler.h"
#include "node/reconciler/value_reconciler.h"

namespace berth::reconciler {

/// The parts of the component, joined. Thread: the loop's only.
class Reconciler {
 public:
  Reconciler(const pods::Parts& parts, CpuOptions cpu_options, MachineOptions machine_options, bool adopt_unknown)
      : parts_(parts),
        pool_(parts),
        cpus_(parts, pool_, std::move(cpu_options)),
        values_(parts),
        machine_(parts, pool_, values_, std::move(machine_options)),
        groups_(parts, pool_, adopt_unknown),
        pressure_(parts),
        escaped_(parts) {}

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
  pods::Parts parts_;
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
