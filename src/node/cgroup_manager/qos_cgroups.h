// QoS cgroups, the levels above pods: Berth's own groups, and those of all pods and of each class.
#ifndef BERTH_NODE_CGROUP_MANAGER_QOS_CGROUPS_H_
#define BERTH_NODE_CGROUP_MANAGER_QOS_CGROUPS_H_

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/ledger.h"
#include "node/cgroup_manager/cpusets.h"
#include "node/cgroup_manager/group_table.h"
#include "node/cgroup_manager/site.h"

namespace berth::cgroup_manager {

/// Thread: the loop's only.
class QosCgroups {
 public:
  QosCgroups(Site& site, const GroupTable& table) : site_(site), table_(table) {}

  /// Makes Berth's own groups and the tiers, and writes their values. Errors: the first that occurred; may be called
  /// again.
  Result<void> Make(const Ledger& ledger);
  /// Writes what they should hold for the pods of the ledger, but for the memory limit of all pods. A class's memory
  /// limit never goes below what it uses.
  /// What differs from what was written last is somebody's edit, and added to `edited`, which may be null.
  Result<void> Update(const Ledger& ledger, std::vector<Repaired>* edited = nullptr);
  /// Gives back what other settings made Berth write and these do not (cgroup::Lifts). Errors: the first.
  Result<void> Lift(const Ledger& ledger);
  /// Limits the memory of all pods together to what is not reserved. What pods use already is not taken from them: the
  /// old limit stays then, and when the kernel refuses. Returns why; empty: done.
  std::string LimitAllPods(std::vector<Repaired>* edited = nullptr);
  /// Removes them all and Berth's own group (unless settings name it); with processes in them it fails and leaves them.
  Result<void> RemoveAll();

 private:
  Result<void> MakeOwn();
  Result<void> MakeTiers(const Ledger& ledger);
  Result<void> UpdateTier(QosClass qos, const Ledger& ledger, std::vector<Repaired>* edited);
  /// Writes values, and adds what somebody changed since the last time to `edited`.
  Result<void> WriteTier(const std::string& path, const CgroupValues& values, std::vector<Repaired>* edited);

  Site& site_;
  const GroupTable& table_;
  std::map<std::string, CgroupValues> written_;  // by path: what was written last
};

}  // namespace berth::cgroup_manager

#endif  // BERTH_NODE_CGROUP_MANAGER_QOS_CGROUPS_H_
