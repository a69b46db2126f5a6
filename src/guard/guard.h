// Everything that looks what the world did meanwhile, and puts it right; only what differs is written.
#ifndef BERTH_GUARD_GUARD_H_
#define BERTH_GUARD_GUARD_H_

#include <string>
#include <utility>
#include <vector>

#include "guard/cpu_guard.h"
#include "guard/group_guard.h"
#include "guard/machine_guard.h"
#include "guard/pool_guard.h"
#include "guard/pressure_guard.h"
#include "guard/stray_guard.h"
#include "guard/value_guard.h"
#include "guard/volume_guard.h"
#include "os/clock.h"
#include "os/write_watch.h"
#include "pods/parts.h"

namespace berth::guard {

/// The parts of the room, joined. Thread: the loop's only.
class Guard {
 public:
  Guard(const pods::Parts& parts, CpuOptions cpu_options, MachineOptions machine_options, bool adopt_unknown)
      : parts_(parts),
        pool_(parts),
        cpus_(parts, pool_, std::move(cpu_options)),
        values_(parts),
        machine_(parts, pool_, values_, std::move(machine_options)),
        groups_(parts, pool_, adopt_unknown),
        pressure_(parts),
        strays_(parts),
        volumes_(parts) {}

  /// At the start, once groups are known. Errors: of settings.
  Result<void> Begin(os::MonoTime now);
  /// What others wrote since the last call.
  void OnWrites(os::WriteWatch::Writes writes, os::MonoTime now);
  /// What is due: CPUs, the machine, cpusets, what systemd wrote. `most`: between two looks at all cpusets.
  void Check(os::MonoTime now, os::Millis most, const os::Slice& slice);
  /// Check has more to do at once.
  bool working() const { return cpus_.working() || values_.working(); }
  os::MonoTime next_check() const { return cpus_.next_check(); }
  /// It is time to look at all values of groups, for processes outside theirs, and for volumes that are too full.
  void LookAtValues(os::MonoTime now);
  /// Things an operator should know now, a sentence each.
  std::vector<std::string> Warnings() const;

  PoolGuard& pool() { return pool_; }
  const PoolGuard& pool() const { return pool_; }
  CpuGuard& cpus() { return cpus_; }
  const CpuGuard& cpus() const { return cpus_; }
  GroupGuard& groups() { return groups_; }
  Pressure& pressure() { return pressure_; }
  const Pressure& pressure() const { return pressure_; }

 private:
  bool BesideKubelet() const { return parts_.groups.site().beside_kubelet(); }

  pods::Parts parts_;
  PoolGuard pool_;
  CpuGuard cpus_;
  ValueGuard values_;
  MachineGuard machine_;
  GroupGuard groups_;
  Pressure pressure_;
  StrayGuard strays_;
  VolumeGuard volumes_;
};

}  // namespace berth::guard

#endif  // BERTH_GUARD_GUARD_H_
