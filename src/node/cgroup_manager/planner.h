// Planned cgroup values: what Berth's groups should hold, from the node, the ledger and the groups there are. Changes
// nothing; reads nothing of the kernel's but what it is handed.
#ifndef BERTH_NODE_CGROUP_MANAGER_PLANNER_H_
#define BERTH_NODE_CGROUP_MANAGER_PLANNER_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "host/cgroup/cpuset_partitions.h"
#include "host/cgroup/node_values.h"
#include "host/cgroup/pod_cgroup_values.h"
#include "model/ledger.h"
#include "model/pod.h"
#include "node/cgroup_manager/group_table.h"
#include "node/cgroup_manager/site.h"
#include "node/ledger/shared_pool.h"

namespace berth::cgroup_manager {

using ledger::Online;

/// What one group of Berth's should hold, and why.
struct PlannedGroup {
  std::string path;  ///< below the cgroup root
  std::string what;  ///< "all pods", "pod default/web", "container main of default/web"
  CgroupValues values;
  cgroup::Reasons why;
};

/// Path -> CPUs, never empty.
using WantedSets = std::vector<std::pair<std::string, CpuSet>>;
struct WantedCpus {
  WantedSets first;
  WantedSets inherited;  ///< what follows by itself from a class in `first`, unless it has a set of its own
  /// Every class holds just the pool, and so do all below it: they may inherit it. Where not, each needs a set of its
  /// own, or it would have what its class gets before who has it now has given it up.
  bool may_inherit = true;
};

/// Thread: the loop's only.
class Planner {
 public:
  Planner(const Site& site, const GroupTable& table) : site_(site), table_(table) {}

  /// CPUs of every group with a set of its own. A group for which no CPU is online is left out.
  WantedCpus Cpus(const Ledger& ledger, const Online& online) const;
  /// Of a container; those that are offline are left out: the kernel refuses them or takes them away. One that lost all
  /// of its own runs in the shared pool: left alone, the kernel would let it onto every CPU of the group above.
  CpuSet CpusNow(const ContainerGroup& group, const Ledger& ledger, const Online& online) const;
  CpuSet SharedNow(const Ledger& ledger, const Online& online) const {
    return ledger::SharedNow(site_.node(), ledger, online);
  }
  /// What a pod's containers may use together; its sandbox is in the shared pool.
  CpuSet CpusOfPod(const std::string& uid, const Ledger& ledger, const Online& online) const;
  /// Memory nodes a container is kept to; nullopt: all.
  std::optional<NodeSet> NodesOf(const ContainerGroup& group, const Ledger& ledger) const;
  /// A group without booked memory that keeps the nodes it had: of an init container that has ended, and of pods whose
  /// booking may have been lost while they ran.
  static bool KeepsItsNodes(const ContainerGroup& group, const Ledger& ledger);

  /// CPUs a container is to have, online or not.
  CpuSet CpusOf(const ContainerGroup& group, const Ledger& ledger) const;
  /// Values of a pod's group, without CPUs. `why` may be null, here and below.
  CgroupValues OfPod(const Pod& pod, const Ledger& ledger, cgroup::Reasons* why) const;
  CgroupValues OfContainer(const Pod& pod, const Container& container, const Ledger& ledger,
                           cgroup::Reasons* why) const;
  /// Groups of one pod that exist, each with all its values; none when its own does not.
  std::vector<PlannedGroup> PlanPod(const Pod& pod, const Ledger& ledger) const;
  /// All groups of Berth's that exist, from the top, each with all its values. `pods`: those whose manifests are known;
  /// of the others only the CPUs are.
  std::vector<PlannedGroup> Plan(const Ledger& ledger, const std::vector<const Pod*>& pods) const;
  /// Exclusive CPUs as partitions of `kind`; "none": nobody's are. CPUs that went offline stay in the plan, as long as
  /// one is left: the kernel takes them back by itself.
  cgroup::PartitionPlan Partitions(const std::string& kind, const Ledger& ledger, const Online& online) const;

 private:
  static CpuSet OwnCpusOf(QosClass qos, const Ledger& ledger);
  void PlanTiers(const Ledger& ledger, std::vector<PlannedGroup>& out) const;
  bool AddPod(const Pod& pod, const Ledger& ledger, std::vector<PlannedGroup>& out) const;
  void PlanOwn(const Ledger& ledger, std::vector<PlannedGroup>& out) const;

  const Site& site_;
  const GroupTable& table_;
};

}  // namespace berth::cgroup_manager

#endif  // BERTH_NODE_CGROUP_MANAGER_PLANNER_H_
