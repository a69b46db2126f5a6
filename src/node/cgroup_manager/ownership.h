// Ownership of cgroups: which groups below the root are Berth's to make, write and remove, and what follows from that.
#ifndef BERTH_NODE_CGROUP_MANAGER_OWNERSHIP_H_
#define BERTH_NODE_CGROUP_MANAGER_OWNERSHIP_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/cgroup/cgroup_names.h"
#include "model/ledger.h"
#include "model/pod.h"
#include "model/running.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::cgroup_manager {

class Discovery;
class GroupTable;
class Planner;
class PodGroups;
class RuntimeGroups;
class Site;
struct ContainerGroup;

/// What is done in another way by each owner; the rest of the component asks nobody whose a group is. Keeps nothing:
/// the cases are those of owned_groups.h. Thread: any, as those it works with.
class Ownership {
 public:
  virtual ~Ownership() = default;

  // ---- tiers and pods

  /// Tiers that Berth makes and writes, from the top.
  virtual std::vector<QosClass> Tiers(const cgroup::Names& names) const = 0;
  /// Groups for berthd and the supervisors.
  virtual std::vector<std::string> OwnGroups(const cgroup::Names& names) const = 0;
  /// Path of a pod's group that Berth writes all values of; nullptr: there is none.
  virtual const std::string* FindPod(const GroupTable& table, const std::string& uid) const = 0;
  /// As Site::KeepsPodToItsCpus.
  virtual bool KeepsPodToItsCpus(const Site& site, std::string_view pod_path) const = 0;
  /// Whether a pod's group gets its CPUs when it is made, or (not `is_new`) found.
  virtual bool SetsPodCpus(const Site& site, std::string_view pod_path, bool is_new) const = 0;
  /// As Discovery::FindForeign.
  virtual Result<std::vector<std::string>> FindForeign(Discovery& discovery) const = 0;

  // ---- containers

  /// Where a container's group is, or will be made by Berth; nullopt: its runtime makes it, and it was not found.
  virtual std::optional<std::string> HomeOf(const Site& site, const GroupTable& table, const Pod& pod,
                                            std::string_view container) const = 0;
  /// All that Berth writes to the group of a container whose pod's manifest is not known.
  virtual CgroupValues ValuesOf(const Planner& planner, const ContainerGroup& group, const Ledger& ledger) const = 0;
  /// Finds the containers of a pod. `partial`: its record, when that is partial; else nullptr.
  virtual Result<void> FindContainers(Discovery& discovery, const std::string& pod_path, const std::string& uid,
                                      const PodRecord* partial, const Ledger& ledger) const = 0;
  /// The same for all pods, when some group stands in the way. True: there are more than were known.
  virtual Result<bool> FindMore(RuntimeGroups& groups, const Ledger& ledger) const = 0;
  /// As RuntimeGroups::FindUnknown.
  virtual Result<std::map<std::string, std::string>> FindUnknown(RuntimeGroups& groups, const Ledger& ledger) const = 0;
  /// What runs, whoever knows of it. `statuses`: all that the runtime knows.
  virtual Result<std::vector<RunningGroup>> FindRunning(
      const Site& site, const std::vector<runtime::ContainerStatus>& statuses) const = 0;
  /// Whether a group of that pod is called as the runtime of now has its containers' called.
  virtual bool IsOfThisRuntime(const Site& site, const PodRecord& pod, const std::string& group) const = 0;
  /// Why processes that left a container's group are not moved back; "": they are.
  virtual std::string WhyLeftOutside() const = 0;

  // ---- starts

  /// Kills what is left in the group a container is to be started in. Errors: as PodGroups::KillContainer.
  virtual Result<void> KillLeftovers(PodGroups& groups, const Pod& pod, std::string_view container) const = 0;
  /// Makes the groups that the start needs, and says in the request what they are or shall be. Errors: as
  /// PodGroups::MakeContainer.
  virtual Result<void> MakeFor(PodGroups& groups, const Pod& pod, const Container& container, const Ledger& ledger,
                               runtime::StartRequest& request) const = 0;
  /// A container of that id runs. `container`: nullptr: its manifest is not known.
  virtual Result<void> TakeStarted(RuntimeGroups& groups, const Pod& pod, const Container* container,
                                   std::string_view id, const Ledger& ledger) const = 0;
  /// Tells the runtime what CPUs its containers have, where it keeps record of that.
  virtual Result<void> TellCpus(PodGroups& groups, const Ledger& ledger, runtime::Runtime& runtime) const = 0;
  /// A runtime writes to groups too: what it did is looked at soon, and what it may be making looked for again.
  virtual bool runtime_writes() const = 0;
};

}  // namespace berth::cgroup_manager

#endif  // BERTH_NODE_CGROUP_MANAGER_OWNERSHIP_H_
