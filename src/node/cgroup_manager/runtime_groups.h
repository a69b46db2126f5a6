// Groups that a runtime makes for containers itself, below a pod's and named after ids: each pod's group is kept to the
// CPUs its containers may have, so that nothing the runtime writes late lets one of them onto others, and its sandbox
// is kept in the shared pool.
#ifndef BERTH_NODE_CGROUP_MANAGER_RUNTIME_GROUPS_H_
#define BERTH_NODE_CGROUP_MANAGER_RUNTIME_GROUPS_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "node/cgroup_manager/group_table.h"
#include "node/cgroup_manager/planner.h"
#include "node/cgroup_manager/site.h"

namespace berth::cgroup_manager {

/// Thread: the loop's only.
class RuntimeGroups {
 public:
  RuntimeGroups(const Site& site, GroupTable& table, const Planner& planner)
      : site_(site), table_(table), planner_(planner) {}

  /// Looks which groups the runtime has made for a pod. The sandbox's goes to the shared pool: it was made with all
  /// CPUs of its pod. Groups whose id is not known (yet) are left as they are.
  Result<void> Find(const std::string& uid, const Ledger& ledger);
  /// The same with the names of the groups below the pod's, which were just read.
  Result<void> FindAmong(const std::string& uid, const std::vector<std::string>& groups, const Ledger& ledger);
  /// Writes into the group the runtime made for container `id` what it is not told or leaves out: limits on huge pages,
  /// of all sizes. No group (any more): success. Requires: Find after the container's id was known.
  Result<void> Finish(const Pod& pod, const Container& container, std::string_view id, const Ledger& ledger);
  /// Looks at all pods. Whether the runtime has made groups that were not known.
  Result<bool> FindMore(const Ledger& ledger);
  /// Groups below those of our pods that are of no container or sandbox known by now: path -> uid. Finds those that
  /// were not there, or could not be looked at, when their id came to be known. The runtime may be making them.
  Result<std::map<std::string, std::string>> FindUnknown(const Ledger& ledger);

 private:
  Result<void> MoveToPool(const std::string& path, const Ledger& ledger);

  const Site& site_;
  GroupTable& table_;
  const Planner& planner_;
};

}  // namespace berth::cgroup_manager

#endif  // BERTH_NODE_CGROUP_MANAGER_RUNTIME_GROUPS_H_
