// CPUs: those that come and go, and cpusets that others write to.
#ifndef BERTH_NODE_RECONCILER_CPU_RECONCILER_H_
#define BERTH_NODE_RECONCILER_CPU_RECONCILER_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/id_set.h"
#include "host/os/clock.h"
#include "node/cgroup_manager/enforcer.h"
#include "node/ledger/node_allocations.h"
#include "node/reconciler/pool_reconciler.h"
#include "node/reconciler/told.h"
#include "telemetry/events/event_log.h"

namespace berth::reconciler {

struct CpuOptions {
  std::string partition = "none";  ///< of containers with exclusive CPUs: none, root, isolated; "": not looked at
};

/// Thread: the loop's only.
class CpuReconciler {
 public:
  /// `pool` outlives this.
  CpuReconciler(ledger::NodeAllocations& allocations, cgroup_manager::Enforcer& groups, events::EventLog& events,
                const os::Clock& clock, PoolReconciler& pool, CpuOptions options)
      : allocations_(allocations),
        groups_(groups),
        events_(events),
        clock_(clock),
        pool_(pool),
        options_(std::move(options)) {}

  /// At the start, once groups are known: partitions, and the CPUs that are online.
  void Begin(os::MonoTime now);
  /// Somebody else wrote to a file of this cpuset directory; `who` describes him, "" when he is not known.
  void OnForeignWrite(std::string_view cpuset_dir, std::string who, os::MonoTime now);
  /// Somebody wrote somewhere: all cpusets are looked at soon.
  void CheckSoon(os::MonoTime now);
  /// Looks, if it is time for it: at the CPUs that are online, and at all cpusets. The latter less often when that
  /// takes long, every `most` at the latest.
  void Check(os::MonoTime now, os::Millis most, const os::Slice& slice);
  os::MonoTime next_check() const { return next_check_; }
  /// A look at all cpusets goes on with the next Check, at once.
  bool working() const { return look_ && !look_->waits; }

 private:
  void UsePartitions();
  void FollowCpus();
  void GiveUpLook();
  void ReportCpus(const CpuSet& before);
  void ReportProblems();
  bool RepairCpusets(os::MonoTime now, const os::Slice& slice);

  ledger::NodeAllocations& allocations_;
  cgroup_manager::Enforcer& groups_;
  events::EventLog& events_;
  const os::Clock& clock_;
  PoolReconciler& pool_;
  CpuOptions options_;
  Told no_partition_;                           // containers that have none
  Told has_displaced_;                          // likewise, with processes out of their cpuset
  std::map<std::string, std::string> writers_;  // group -> who wrote there since the last look began
  /// The look at all cpusets that is under way.
  struct Look {
    std::map<std::string, std::string> writers;  // before it
    os::MonoTime::duration cost{0};
    bool waits = false;  // for systemd
  };
  std::optional<Look> look_;
  os::MonoTime last_check_{};
  os::MonoTime next_check_{};
  os::MonoTime next_look_{};
};

}  // namespace berth::reconciler

#endif  // BERTH_NODE_RECONCILER_CPU_RECONCILER_H_
