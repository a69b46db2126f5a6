// The groups of single pods and containers: made before a start, emptied and removed after the end.
#ifndef BERTH_NODE_CGROUP_MANAGER_POD_GROUPS_H_
#define BERTH_NODE_CGROUP_MANAGER_POD_GROUPS_H_

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "node/cgroup_manager/cpu_partitions.h"
#include "node/cgroup_manager/group_table.h"
#include "node/cgroup_manager/planner.h"
#include "node/cgroup_manager/site.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::cgroup_manager {

/// Thread: the loop's only.
class PodGroups {
 public:
  PodGroups(const Site& site, GroupTable& table, const Planner& planner, CpuPartitions& partitions)
      : site_(site), table_(table), planner_(planner), partitions_(partitions) {}

  /// Called with the path of each pod's group that was removed: a runtime that makes groups leaves it in hierarchies
  /// Berth does not use.
  void set_on_removed(std::function<void(const std::string& path)> removed) { on_removed_ = std::move(removed); }

  /// Makes the groups of a container (and its pod) with all their values and checks that the kernel took its CPUs.
  /// Errors: kBusy while systemd is asked; to be called again until something else comes of it, or GiveUp.
  Result<CgroupDirs> MakeContainer(const Pod& pod, const Container& container, const Ledger& ledger);
  /// The container is in its group, or could not be started. To be called after MakeContainer.
  void LetGo(const Pod& pod, std::string_view container);
  /// MakeContainer is not called again: nobody needs these groups any more.
  void GiveUp(const Pod& pod, std::string_view container);
  /// Makes the pod's group alone, for a runtime that makes those of containers. Returns its path below each hierarchy.
  /// Errors: likewise.
  Result<std::string> MakePod(const Pod& pod, const Ledger& ledger);
  /// What the group of a container shall hold now.
  Result<CgroupValues> ValuesNow(const Pod& pod, const Container& container, const Ledger& ledger);
  /// What a runtime is told of the pod's sandbox: spec.overhead (nothing: the pod has none), and what its containers
  /// have together.
  CgroupValues SandboxOverhead(const Pod& pod) const { return cgroup::SandboxOverhead(pod, site_.options()); }
  CgroupValues SandboxResources(const Pod& pod) const { return cgroup::SandboxResources(pod, site_.options()); }
  /// CPUs of every container of the ledger, as they shall be now.
  Result<std::vector<runtime::ContainerCpus>> CpusNow(const Ledger& ledger);

  /// SIGKILL to everything in the container's group, without waiting. Errors: kBusy when something is (still) there.
  Result<void> KillContainer(const Pod& pod, std::string_view container);
  /// SIGKILL to everything in the pod's groups, without waiting. Errors: kBusy when they were not empty.
  Result<void> KillPod(const Pod& pod);
  /// True when no process is left in the pod's groups; they are removed then. False: somebody still runs there.
  /// Errors: kBusy when the kernel is not done with those that ran there; to be tried again in a moment.
  Result<bool> Remove(const Pod& pod);

 private:
  Result<CgroupDirs> Make(const std::string& path, const ContainerGroup& group, const Pod& pod,
                          const Container& container, const Ledger& ledger);
  Result<void> MakePodGroup(const Pod& pod, const Ledger& ledger);
  Result<void> TryPodGroup(const std::string& path, const Pod& pod, const Ledger& ledger);
  template <class T>
  bool Note(const std::string& path, const std::string& uid, const Result<T>& made);

  const Site& site_;
  GroupTable& table_;
  const Planner& planner_;
  CpuPartitions& partitions_;
  std::set<std::string> new_pods_;  // paths of groups that are being made and were not there before
  std::function<void(const std::string&)> on_removed_ = [](const std::string&) {};
};

}  // namespace berth::cgroup_manager

#endif  // BERTH_NODE_CGROUP_MANAGER_POD_GROUPS_H_
