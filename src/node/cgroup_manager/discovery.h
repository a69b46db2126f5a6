// Groups of pods and containers that are there already: Berth's own from before, and those somebody else made.
#ifndef BERTH_NODE_CGROUP_MANAGER_DISCOVERY_H_
#define BERTH_NODE_CGROUP_MANAGER_DISCOVERY_H_

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "node/cgroup_manager/group_table.h"
#include "node/cgroup_manager/runtime_groups.h"
#include "node/cgroup_manager/site.h"

namespace berth::cgroup_manager {

/// Thread: the loop's only.
class Discovery {
 public:
  Discovery(const Site& site, GroupTable& table, RuntimeGroups& runtime_groups)
      : site_(site), table_(table), runtime_groups_(runtime_groups) {}

  /// Finds the groups of pods in `ledger` or `known` (uids): these are Berth's; others are never written or removed.
  Result<void> Find(const Ledger& ledger, const std::set<std::string>& known);
  // What a pod's containers are known by.
  Result<void> KnowByNames(const std::string& pod_path, const std::string& uid);
  Result<void> KnowByIds(const std::string& uid, const Ledger& ledger) { return runtime_groups_.Find(uid, ledger); }
  bool KnowsIds(const std::string& uid) const { return !table_.IdsOf(uid).empty(); }
  /// Groups of pods taken over from elsewhere are called as their runtime called them.
  Result<void> KnowPartial(const std::string& pod_path, const PodRecord& record);
  /// Groups of pods that Berth neither made nor took over; those taken over that are gone are forgotten.
  Result<std::vector<std::string>> FindForeign();
  /// From now on the containers below a foreign group are kept in the shared pool like Berth's own. Nothing is ever
  /// killed or removed there.
  Result<void> TakeOver(const std::string& pod_path);

 private:
  const Site& site_;
  GroupTable& table_;
  RuntimeGroups& runtime_groups_;
};

}  // namespace berth::cgroup_manager

#endif  // BERTH_NODE_CGROUP_MANAGER_DISCOVERY_H_
