// Groups that should not be there: of pods Berth did not make, of containers in its pods that it did not start, and of
// pods that nothing knows any more.
#ifndef BERTH_NODE_RECONCILER_GROUP_RECONCILER_H_
#define BERTH_NODE_RECONCILER_GROUP_RECONCILER_H_

#include <map>
#include <set>
#include <string>

#include "node/cgroup_manager/enforcer.h"
#include "node/ledger/node_allocations.h"
#include "node/pods/pod_table.h"
#include "node/reconciler/pool_reconciler.h"
#include "telemetry/events/event_log.h"

namespace berth::reconciler {

/// Thread: the loop's only.
class GroupReconciler {
 public:
  /// `pool` outlives this. `adopt_unknown`: keep groups of pods that Berth did not make in the shared pool, instead of
  /// reporting them only.
  GroupReconciler(ledger::NodeAllocations& allocations, cgroup_manager::Enforcer& groups, pods::PodTable& pods,
                  events::EventLog& events, PoolReconciler& pool, bool adopt_unknown)
      : allocations_(allocations),
        groups_(groups),
        pods_(pods),
        events_(events),
        pool_(pool),
        adopt_unknown_(adopt_unknown) {}

  void SetAdoptUnknown(bool adopt) { adopt_unknown_ = adopt; }
  /// Groups of pods in our tree that Berth did not make.
  void LookForForeignGroups();
  /// Containers somebody else has put into the groups of our pods.
  void LookForForeignContainers();
  /// Groups of pods that nothing knows any more: left by a berthd that died, or by pods whose end was not seen.
  /// Requires: all manifests are known.
  void RemoveUnused();

 private:
  void TakeOver(const std::string& path);

  ledger::NodeAllocations& allocations_;
  cgroup_manager::Enforcer& groups_;
  pods::PodTable& pods_;
  events::EventLog& events_;
  PoolReconciler& pool_;
  bool adopt_unknown_;
  std::set<std::string> stuck_;                     // paths of unused groups that cannot be removed
  std::set<std::string> foreign_groups_;            // paths that were reported
  std::map<std::string, bool> foreign_containers_;  // paths seen at the last look -> reported
};

}  // namespace berth::reconciler

#endif  // BERTH_NODE_RECONCILER_GROUP_RECONCILER_H_
