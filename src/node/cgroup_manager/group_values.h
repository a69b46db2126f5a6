// Values of groups other than CPUs and memory nodes: compared with the plan, and put right.
#ifndef BERTH_NODE_CGROUP_MANAGER_GROUP_VALUES_H_
#define BERTH_NODE_CGROUP_MANAGER_GROUP_VALUES_H_

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "node/cgroup_manager/cpusets.h"
#include "node/cgroup_manager/group_table.h"
#include "node/cgroup_manager/planner.h"

namespace berth::cgroup_manager {

/// Thread: the loop's only.
class Values {
 public:
  Values(const Site& site, const GroupTable& table, const Planner& planner)
      : site_(site), table_(table), planner_(planner) {}

  /// Puts values of a pod's groups right that somebody else changed, except CPUs and memory nodes (Cpusets::Repair). A
  /// quota that systemd has rounded is put right, but is not somebody's edit. `only`: the groups to look at; empty:
  /// all. Groups that are being made are left to who makes them. What was put right is added to `out`. Errors: the
  /// first; the rest was tried. kBusy: systemd is being told (Site::IsUnderWay), which is in `out` already; to be
  /// called again.
  Result<void> Repair(const Ledger& ledger, const Pod& pod, const std::set<std::string>& only,
                      std::vector<Repaired>& out);

  /// Gives back what other settings made Berth write into a pod's groups and these do not (cgroup::Lifts). Errors: the
  /// first; the rest was tried. kBusy: systemd is being told; to be called again.
  Result<void> Lift(const Ledger& ledger, const Pod& pod);

  /// Gives a pod's groups the same values, because the pod was resized: nobody changed them. Whichever way they change,
  /// no level has less than one below it needs. Errors: the first of the last try; the rest was tried. kBusy: systemd
  /// is being told; to be called again.
  Result<void> Put(const Ledger& ledger, const Pod& pod);

  /// Groups for which systemd was being told values at the last look.
  const std::set<std::string>& told() const { return told_; }

 private:
  Result<void> PutOne(const PlannedGroup& group);
  Result<void> LiftGroup(const PlannedGroup& group, const CgroupValues& unset);
  Result<void> RepairGroup(PlannedGroup group, std::vector<Repaired>& out);

  const Site& site_;
  const GroupTable& table_;
  const Planner& planner_;
  std::set<std::string> told_;  // paths
};

}  // namespace berth::cgroup_manager

#endif  // BERTH_NODE_CGROUP_MANAGER_GROUP_VALUES_H_
