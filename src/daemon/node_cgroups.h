// Berth's cgroups on this node: the tiers, Berth's own group, and one group per pod and container, with the CPUs the
// ledger says. All writes to the tree go through here.
//
//   kubepods            limits of all pods together
//   kubepods/<tier>     burstable, besteffort: what follows from their pods
//   …/pod<uid>          values of the pod; cpuset of one that may have CPUs of its own: these and the shared pool
//   …/pod<uid>/<name>   cpuset and values of a container
//   berth               berthd and the supervisors of containers, in the shared pool
//
// With the systemd driver the same levels are slices and scopes (cgroup/names.h).
#ifndef BERTH_DAEMON_NODE_CGROUPS_H_
#define BERTH_DAEMON_NODE_CGROUPS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cgroup/cgroup.h"
#include "cgroup/names.h"
#include "cgroup/node_values.h"
#include "cgroup/partitions.h"
#include "cgroup/value_lines.h"
#include "cgroup/values.h"
#include "engine/engine.h"
#include "model/ledger.h"
#include "model/pod.h"
#include "os/clock.h"
#include "os/lock_file.h"
#include "runtime/runtime.h"

namespace berth::daemon {

/// Group of berthd itself with the usual names.
inline constexpr std::string_view kOwnGroup = "berth";

/// A container's group found or made.
struct ContainerGroup {
  std::string uid;
  std::string container;
  friend bool operator==(const ContainerGroup&, const ContainerGroup&) = default;
};

/// What RepairCpusets put right.
struct Repair {
  std::string path;
  std::string what;  ///< "CPUs were 0-3, must be 2"
};

/// What one group of Berth's should hold, and why.
struct PlannedGroup {
  std::string path;  ///< below the cgroup root
  std::string what;  ///< "all pods", "pod default/web", "container main of default/web"
  CgroupValues values;
  cgroup::Reasons why;
};

/// A group as it is.
struct GroupState {
  PlannedGroup plan;
  std::vector<ValueLine> values;
  std::string problem;  ///< why it could not be read; empty otherwise
};

/// Thread: the loop's only.
class NodeCgroups {
 public:
  /// `tree` must outlive this; `names` are those of its root.
  NodeCgroups(cgroup::Tree& tree, const engine::Node& node, cgroup::Names names = {});

  /// `watch` is called with the cpuset directory of each group when it is made or found, to see who writes there.
  void set_watch(std::function<void(const std::string& dir)> watch) { watch_ = std::move(watch); }
  /// The group whose cpuset directory this is; nullopt: none below the root.
  std::optional<std::string> GroupOf(std::string_view dir) const;

  /// For runtimes that make containers' groups themselves, below a pod's and named after ids: each pod's group is kept
  /// to the CPUs its containers may have, so that nothing the runtime writes late lets one of them onto others, and its
  /// sandbox is kept in the shared pool. Before Prepare.
  void set_runtime_makes_groups() { runtime_makes_groups_ = true; }
  /// `id` is a container of ours, or with container "" the pod's sandbox. Its group is found when it is there.
  /// True: that is new.
  bool KnowId(const std::string& uid, const std::string& container, const std::string& id);
  /// Called with the path of each pod's group that was removed: the runtime leaves it in hierarchies Berth does not
  /// use.
  void set_on_removed(std::function<void(const std::string& path)> removed) { on_removed_ = std::move(removed); }

  /// The node has other CPUs now. Errors: of reading what else values depend on.
  Result<void> SetNode(const engine::Node& node);
  /// CPUs that are online now; nullopt: not known.
  Result<std::optional<CpuSet>> OnlineCpus() { return tree_.OnlineCpus(); }

  /// Takes the cgroup root for this process, makes the tiers and Berth's own group, writes their values, and finds the
  /// groups of pods and containers that are there already. Only groups of pods in `ledger` or `known` (uids) are
  /// Berth's; others are never written or removed. Errors: kInUse when another berthd uses this cgroup root, else the
  /// first that occurred; may be called again.
  Result<void> Prepare(const Ledger& ledger, const std::set<std::string>& known);
  /// Limits the memory of all pods together to what is not reserved. What pods use already is not taken from them: the
  /// old limit stays then, and when the kernel refuses. Returns why; empty: done.
  std::string LimitAllPods();
  /// Writes what the levels above pods should hold for the pods of the ledger, but for the memory limit of all pods.
  /// A class's memory limit never goes below what it uses.
  Result<void> UpdateTiers(const Ledger& ledger);
  /// Groups of the host that shall hold what is reserved for them. Requires: Prepare succeeded.
  Result<std::vector<cgroup::ReservedGroup>> ReservedGroups() const {
    return cgroup::ReservedGroups(node_.config(), shares_);
  }
  /// All groups of Berth's that exist, from the top, each with all its values. `pods`: those whose manifests are known;
  /// of the others only the CPUs are.
  std::vector<PlannedGroup> Plan(const Ledger& ledger, const std::vector<const Pod*>& pods) const;
  /// The same beside what the kernel says now.
  std::vector<GroupState> Inspect(const Ledger& ledger, const std::vector<const Pod*>& pods) const;
  /// Puts values right that somebody else changed, except CPUs and memory nodes (RepairCpusets) and the CPU quota of
  /// pods and containers: who edits that by hand means it. Errors: the first; the rest was tried.
  /// A quota that systemd has rounded is not somebody's edit. `only`: the groups to look at; empty: all.
  Result<std::vector<Repair>> RepairValues(const Ledger& ledger, const std::vector<const Pod*>& pods,
                                           const std::set<std::string>& only = {});

  /// Gives every container group and Berth's own the CPUs `ledger` says, shrinking before growing. After an error some
  /// groups may still have more than they should: nothing with exclusive CPUs may be started then.
  /// Groups of a runtime are those found so far (FindRuntimeGroups); others are within their pod's. When the kernel
  /// refuses CPUs for their sake, or for a group somebody else made below a pod or container (v1), they are looked for
  /// and narrowed.
  Result<int> ApplyCpus(const Ledger& ledger);
  /// Makes the groups of a container (and its pod) with all their values and checks that the kernel took its CPUs.
  Result<CgroupDirs> MakeContainer(const Pod& pod, const Container& container, const Ledger& ledger);
  /// The container is in its group, or could not be started. To be called after MakeContainer.
  void LetGo(const Pod& pod, std::string_view container) { tree_.LetGo(ContainerPathOf(pod, container)); }
  /// Makes the pod's group alone, for a runtime that makes those of containers. Returns its path below each hierarchy.
  Result<std::string> MakePod(const Pod& pod, const Ledger& ledger);
  /// What the group of a container shall hold now.
  Result<CgroupValues> ValuesNow(const Pod& pod, const Container& container, const Ledger& ledger);
  /// CPUs of every container of the ledger, as they shall be now.
  Result<std::vector<runtime::ContainerCpus>> ContainerCpusNow(const Ledger& ledger);
  /// Looks which groups the runtime has made for a pod. The sandbox's goes to the shared pool: it was made with all
  /// CPUs of its pod. Groups whose id is not known (yet) are left as they are.
  Result<void> FindRuntimeGroups(const std::string& uid, const Ledger& ledger);
  /// Writes into the group the runtime made for container `id` what it is not told or leaves out: limits on huge pages,
  /// of all sizes. No group (any more): success. Requires: FindRuntimeGroups after the container's id was known.
  Result<void> FinishRuntimeGroup(const Pod& pod, const Container& container, std::string_view id,
                                  const Ledger& ledger);
  /// Groups below those of our pods that are of no container or sandbox known by now: path -> uid. Finds those that
  /// were not there, or could not be looked at, when their id came to be known. The runtime may be
  /// making them. Only where the runtime makes groups.
  Result<std::map<std::string, std::string>> FindUnknownContainers(const Ledger& ledger);
  /// Compares CPUs and memory nodes of the kernel's cpusets with the ledger and writes only what differs; other values
  /// are not looked at. Errors: as ApplyCpus.
  Result<std::vector<Repair>> RepairCpusets(const Ledger& ledger);

  /// From now on containers with CPUs of their own are partitions of `kind` ("root", "isolated"; "none": they are not).
  /// Returns why the kernel cannot do that; empty: it can. Requires: Prepare succeeded.
  Result<std::string> UsePartitions(const std::string& kind, const Ledger& ledger);
  /// Containers some of whose processes could not be moved back into their cpuset (v1) at the last ApplyCpus or
  /// RepairCpusets, and why.
  const std::map<std::string, std::string>& stray_problems() const { return stray_problems_; }
  /// Containers that the kernel refused as partitions since UsePartitions, and why. They have their CPUs all the same.
  const std::map<std::string, std::string>& partition_problems() const { return partition_problems_; }

  /// SIGKILL to everything in the container's group. Errors: kBusy when something is left after `patience`.
  Result<void> KillContainer(const Pod& pod, std::string_view container, os::Millis patience);
  /// True when no process is left in the pod's groups; they are removed then. False: somebody still runs there.
  Result<bool> RemovePod(const Pod& pod);
  /// SIGKILL to everything in the pod's groups, without waiting. Errors: kBusy when they were not empty.
  Result<void> KillPod(const Pod& pod);

  /// Groups of pods that Berth neither made nor took over; those taken over that are gone are forgotten.
  Result<std::vector<std::string>> FindForeign();
  /// From now on the containers below a foreign group are kept in the shared pool like Berth's own. Nothing is ever
  /// killed or removed there.
  Result<void> TakeOver(const std::string& pod_path);
  /// Uids of pods that have a group.
  const std::map<std::string, std::string>& pods() const { return pods_; }  ///< uid -> path
  /// Removes tiers and Berth's own group (unless settings name it); with processes in them it fails and leaves them.
  Result<void> RemoveAll();

  /// Path of a pod's group: where it was found, else where it belongs.
  std::string PodPathOf(const Pod& pod) const;
  std::string ContainerPathOf(const Pod& pod, std::string_view container) const;
  cgroup::Tree& tree() { return tree_; }
  const cgroup::Names& names() const { return names_; }

 private:
  Result<void> ReadSettings();
  Result<CgroupDirs> MakeContainerGroup(const std::string& path, const ContainerGroup& group, const Pod& pod,
                                        const Container& container, const Ledger& ledger);
  std::vector<std::string> OwnGroups() const;  ///< of berthd and of the supervisors
  Result<void> TakeRoot();
  Result<void> MakeTiers(const Ledger& ledger);
  Result<void> UpdateTier(QosClass qos, const Ledger& ledger);
  CgroupValues PodValuesOf(const Pod& pod, const Ledger& ledger, cgroup::Reasons* why) const;
  CgroupValues ContainerValuesOf(const Pod& pod, const Container& container, const Ledger& ledger,
                                 cgroup::Reasons* why) const;
  void PlanTiers(const Ledger& ledger, std::vector<PlannedGroup>& out) const;
  void PlanPod(const Pod& pod, const Ledger& ledger, std::vector<PlannedGroup>& out) const;
  Result<void> Discover(const Ledger& ledger, const std::set<std::string>& known);
  Result<void> MakePodGroup(const Pod& pod, const Ledger& ledger);
  /// Whether the pod's group has a cpuset of its own (CpusOfPod).
  bool KeepsPodToItsCpus(std::string_view pod_path) const;
  CpuSet CpusOfPod(const std::string& uid, const Ledger& ledger, const std::optional<CpuSet>& online) const;
  CpuSet CpusOf(const ContainerGroup& group, const Ledger& ledger) const;
  CpuSet CpusNow(const ContainerGroup& group, const Ledger& ledger, const std::optional<CpuSet>& online) const;
  std::optional<NodeSet> NodesOf(const ContainerGroup& group, const Ledger& ledger) const;
  using WantedSets = std::vector<std::pair<std::string, CpuSet>>;
  struct WantedCpus {
    WantedSets first;
    WantedSets inherited;  ///< what follows by itself from a class in `first`, unless it has a set of its own
  };
  Result<WantedCpus> Wanted(const Ledger& ledger) const;
  Result<void> RepairSets(const WantedSets& wanted, const NodeSet& all_mems, const Ledger& ledger,
                          std::vector<Repair>& out);
  /// Whether the group lies below the class Burstable or BestEffort.
  bool BelowTier(std::string_view path) const;
  /// Whether that class holds the shared pool for its containers: v2, where they inherit it.
  bool BelowPoolTier(std::string_view path) const;
  cgroup::PartitionPlan PartitionsOf(const Ledger& ledger, const std::optional<CpuSet>& online) const;
  Result<void> EndPartitions(const Ledger& ledger);
  Result<std::vector<std::string>> SettlePartitions(const Ledger& ledger);
  std::map<std::string, int> ReturnStrays();
  Result<void> AddPartitioned(const std::string& path, const CpuSet& wanted, CpuSet& cpus) const;
  Result<int> NarrowForeignGroups(const Ledger& ledger);
  int NarrowBelow(const std::string& above, const CpuSet& most);
  Result<void> WriteUnlessGone(const std::string& path, const CgroupValues& values);
  Result<void> MoveToPool(const std::string& path, const Ledger& ledger);
  std::string CpusetDir(std::string_view path) const;
  void Know(const std::string& path, ContainerGroup group);
  Result<void> KnowContainers(const std::string& pod_path, const std::string& uid, const Ledger& ledger);
  Result<void> KnowPartial(const std::string& pod_path, const PodRecord& record, const Ledger& ledger);

  cgroup::Tree& tree_;
  engine::Node node_;
  cgroup::Names names_;
  cgroup::ValueOptions options_;
  cgroup::NodeShares shares_;
  std::map<std::string, std::string> pods_;           // uid -> path
  std::map<std::string, ContainerGroup> containers_;  // by path
  std::set<std::string> taken_over_;                  // paths of foreign pods
  std::function<void(const std::string&)> watch_ = [](const std::string&) {};
  std::optional<os::LockFile> lock_;  // on the cgroup root
  bool own_group_ = false;
  std::string partition_ = "none";
  std::map<std::string, std::string> partition_problems_;  // path -> why
  std::map<std::string, std::string> stray_problems_;      // likewise
  bool runtime_makes_groups_ = false;
  std::map<std::string, std::map<std::string, std::string>> ids_;  // uid -> id -> container
  std::function<void(const std::string&)> on_removed_ = [](const std::string&) {};
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_NODE_CGROUPS_H_
