// Berth's cgroups on this node: the tiers, Berth's own group, and one group per pod and container, with the CPUs the
// ledger says. All writes to the tree go through this component.
//
//   kubepods            limits of all pods together
//   kubepods/<tier>     burstable, besteffort: what follows from their pods
//   …/pod<uid>          values of the pod; cpuset of one that may have CPUs of its own: these and the shared pool
//   …/pod<uid>/<name>   cpuset and values of a container
//   berth               berthd and the supervisors of containers, in the shared pool
//
// With the systemd driver the same levels are slices and scopes (host/cgroup/cgroup_names.h).
#ifndef BERTH_NODE_CGROUP_MANAGER_ENFORCER_H_
#define BERTH_NODE_CGROUP_MANAGER_ENFORCER_H_

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/cgroup/node_values.h"
#include "node/cgroup_manager/cpu_partitions.h"
#include "node/cgroup_manager/cpusets.h"
#include "node/cgroup_manager/discovery.h"
#include "node/cgroup_manager/group_table.h"
#include "node/cgroup_manager/group_values.h"
#include "node/cgroup_manager/inspect.h"
#include "node/cgroup_manager/owned_groups.h"
#include "node/cgroup_manager/planner.h"
#include "node/cgroup_manager/pod_groups.h"
#include "node/cgroup_manager/qos_cgroups.h"
#include "node/cgroup_manager/runtime_groups.h"
#include "node/cgroup_manager/site.h"

namespace berth::cgroup_manager {

/// Group of berthd itself with the usual names.
inline constexpr std::string_view kOwnGroup = "berth";

/// The parts of the component, joined. Thread: the loop's only.
class Enforcer {
 public:
  /// `tree` must outlive this; `names` are those of its root.
  Enforcer(cgroup::Tree& tree, const allocator::Node& node, cgroup::Names names = {},
           const Ownership& ownership = OwnsContainers());

  /// Takes the cgroup root for this process, makes the tiers and Berth's own group, writes their values, and finds the
  /// groups of pods and containers that are there already. Only groups of pods in `ledger` or `known` (uids) are
  /// Berth's; others are never written or removed. Errors: kInUse when another berthd uses this cgroup root, else the
  /// first that occurred; may be called again.
  Result<void> Prepare(const Ledger& ledger, const std::set<std::string>& known);
  /// Groups of the host that shall hold what is reserved for them. Requires: Prepare succeeded.
  Result<std::vector<cgroup::ReservedGroup>> ReservedGroups() const;

  /// For Inspect.
  Picture picture() const;

  const Ownership& ownership() const { return site_.ownership(); }
  Site& site() { return site_; }
  const Site& site() const { return site_; }
  GroupTable& table() { return table_; }
  const GroupTable& table() const { return table_; }
  const Planner& planner() const { return planner_; }
  RuntimeGroups& runtime_groups() { return runtime_groups_; }
  CpuPartitions& partitions() { return partitions_; }
  QosCgroups& qos_cgroups() { return qos_cgroups_; }
  Cpusets& cpusets() { return cpusets_; }
  PodGroups& pod_groups() { return pod_groups_; }
  Discovery& discovery() { return discovery_; }
  Values& values() { return values_; }

 private:
  Site site_;
  GroupTable table_;
  Planner planner_;
  RuntimeGroups runtime_groups_;
  CpuPartitions partitions_;
  QosCgroups qos_cgroups_;
  Cpusets cpusets_;
  PodGroups pod_groups_;
  Discovery discovery_;
  Values values_;
};

}  // namespace berth::cgroup_manager

#endif  // BERTH_NODE_CGROUP_MANAGER_ENFORCER_H_
