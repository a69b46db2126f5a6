// Berth's cgroups on this node: the tiers, Berth's own group, and one group per pod and container, with the CPUs the
// ledger says. All writes to the tree go through here.
//
//   kubepods            cpu.shares and memory limit of all pods together
//   kubepods/<tier>     burstable, besteffort: cpu.shares
//   …/pod<uid>          values of the pod
//   …/pod<uid>/<name>   cpuset and values of a container
//   berth               berthd and the supervisors of containers, in the shared pool
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
#include "engine/engine.h"
#include "model/ledger.h"
#include "model/pod.h"
#include "os/clock.h"
#include "os/lock_file.h"

namespace berth::daemon {

/// Group of berthd itself.
inline constexpr std::string_view kOwnGroup = "berth";

/// A container's group found or made.
struct ContainerGroup {
  std::string uid;
  std::string container;
  friend bool operator==(const ContainerGroup&, const ContainerGroup&) = default;
};

/// What Repair put right.
struct Repair {
  std::string path;
  std::string what;  ///< "cpuset.cpus was 0-3, must be 2"
};

/// Thread: the loop's only.
class NodeCgroups {
 public:
  /// `tree` must outlive this.
  NodeCgroups(cgroup::Tree& tree, const engine::Node& node);

  /// Takes the cgroup root for this process, makes the tiers and Berth's own group, writes their values, and finds the
  /// groups of pods and containers that are there already. Only groups of pods in `ledger` or `known` (uids) are
  /// Berth's; others are never written or removed. Errors: kBusy when another berthd uses this cgroup root, else the
  /// first that occurred (never kBusy); may be called again.
  Result<void> Prepare(const Ledger& ledger, const std::set<std::string>& known);
  /// Limits the memory of all pods together to what is not reserved. What pods use already is not taken from them: the
  /// old limit stays then, and when the kernel refuses. Returns why; empty: done.
  std::string LimitAllPods();
  /// Writes the shares of the tiers as the pods of the ledger ask for.
  Result<void> UpdateTiers(const Ledger& ledger);

  /// Gives every container group and Berth's own the CPUs `ledger` says, shrinking before growing. After an error some
  /// groups may still have more than they should: nothing with exclusive CPUs may be started then.
  Result<int> ApplyCpus(const Ledger& ledger);
  /// Makes the groups of a container (and its pod) with all their values and checks that the kernel took its CPUs.
  Result<CgroupDirs> MakeContainer(const Pod& pod, const Container& container, const Ledger& ledger);
  /// Compares the kernel's cpusets with the ledger and writes only what differs. Errors: as ApplyCpus.
  Result<std::vector<Repair>> RepairCpus(const Ledger& ledger);

  /// SIGKILL to everything in the container's group. Errors: kBusy when something is left after `patience`.
  Result<void> KillContainer(const Pod& pod, std::string_view container, os::Millis patience);
  /// True when no process is left in the pod's groups; they are removed then. False: somebody still runs there.
  Result<bool> RemovePod(const Pod& pod);
  /// SIGKILL to everything in the pod's groups, without waiting. Errors: kBusy when they were not empty.
  Result<void> KillPod(const Pod& pod);

  /// Groups of pods found at the start that Berth did not make.
  const std::vector<std::string>& foreign() const { return foreign_; }
  /// Uids of pods that have a group.
  const std::map<std::string, std::string>& pods() const { return pods_; }  ///< uid -> path
  /// Removes tiers and Berth's own group; with processes in them it fails and leaves them.
  Result<void> RemoveAll();

  /// Path of a pod's group: where it was found, else where it belongs.
  std::string PodPathOf(const Pod& pod) const;
  std::string ContainerPathOf(const Pod& pod, std::string_view container) const;
  cgroup::Tree& tree() { return tree_; }

 private:
  Result<void> TakeRoot();
  Result<void> MakeTiers(const Ledger& ledger);
  Result<void> Discover(const std::function<bool(const std::string&)>& ours);
  CpuSet CpusOf(const ContainerGroup& group, const Ledger& ledger) const;
  Result<std::vector<std::pair<std::string, CpuSet>>> Wanted(const Ledger& ledger) const;

  cgroup::Tree& tree_;
  engine::Node node_;
  cgroup::ValueOptions options_;
  std::map<std::string, std::string> pods_;           // uid -> path
  std::map<std::string, ContainerGroup> containers_;  // by path
  std::vector<std::string> foreign_;                  // paths
  std::optional<os::LockFile> lock_;                  // on Berth's own group
  bool own_group_ = false;
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_NODE_CGROUPS_H_
