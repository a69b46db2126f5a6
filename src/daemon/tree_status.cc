#include "daemon/tree_status.h"

#include <string>
#include <utility>

#include "daemon/host_groups.h"

namespace berth::daemon {

TreeView TreeStatus(const PodManager& manager) {
  const cgroup::Layout& layout = manager.groups().site().tree().layout();
  const cgroup::Names& names = manager.groups().site().names();
  TreeView out{.cgroup_version = std::string(cgroup::Name(layout.version)),
               .driver = std::string(cgroup::Name(names.driver())),
               .root = names.root(),
               .host_groups = LookAt(manager.options().host_groups, layout),
               .groups = {}};
  for (enforce::GroupState& group : guard::InspectGroups(manager.pods(), manager.groups(), manager.ledger()))
    out.groups.push_back({.path = std::move(group.plan.path),
                          .what = std::move(group.plan.what),
                          .problem = std::move(group.problem),
                          .values = std::move(group.values)});
  return out;
}

}  // namespace berth::daemon
