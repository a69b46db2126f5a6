// Pods that have to go because the node runs short of memory or processes.
#ifndef BERTH_NODE_RECONCILER_PRESSURE_RECONCILER_H_
#define BERTH_NODE_RECONCILER_PRESSURE_RECONCILER_H_

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "node/cgroup_manager/enforcer.h"
#include "node/ledger/node_allocations.h"
#include "node/pods/pod_table.h"
#include "node/reconciler/eviction_look.h"
#include "telemetry/events/event_log.h"

namespace berth::reconciler {

struct EvictionOptions {
  bool ignores_cache = false;  ///< page cache that can be dropped counts as free (rules/eviction#figures)
};

/// Thread: the loop's only.
class PressureReconciler {
 public:
  explicit PressureReconciler(ledger::NodeAllocations& allocations, cgroup_manager::Enforcer& groups,
                              pods::PodTable& pods, events::EventLog& events)
      : allocations_(allocations), groups_(groups), pods_(pods), events_(events) {}

  /// At the start, once groups are there; nullopt: nobody is evicted. Errors: kInvalid naming the setting.
  Result<void> Begin(const std::optional<EvictionOptions>& options);
  /// The kernel says that memory runs short.
  void LookSoon(os::MonoTime now) { next_ = std::min(next_, now); }
  /// Looks, if it is time for it, and evicts one pod at a time. Before anything is admitted.
  void Check(os::MonoTime now);
  /// Never before Begin.
  os::MonoTime next_due() const { return eviction_ ? next_ : os::MonoTime::max(); }
  /// Why a pod may not be admitted now; "": it may.
  std::string WhyNotAdmit(const Pod& pod) const;
  bool memory() const { return eviction_ && eviction_->memory_pressure(); }
  bool pids() const { return eviction_ && eviction_->pid_pressure(); }

 private:
  void Report(std::string_view what, bool before, bool now);
  void Evict(const EvictionLook& look, os::MonoTime now);

  ledger::NodeAllocations& allocations_;
  cgroup_manager::Enforcer& groups_;
  pods::PodTable& pods_;
  events::EventLog& events_;
  std::optional<Eviction> eviction_;  // from Begin on
  os::MonoTime next_{};
};

}  // namespace berth::reconciler

#endif  // BERTH_NODE_RECONCILER_PRESSURE_RECONCILER_H_
