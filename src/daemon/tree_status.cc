#include "daemon/tree_status.h"

#include "daemon/host_groups.h"
#include "enforce/inspect.h"

namespace berth::daemon {

Result<TreeView> TreeStatus(const LoopState& state, const TreeDoor& door) {
  BERTH_TRY(const std::unique_ptr<cgroup::Tree> tree, door.open());
  const cgroup::Layout& layout = tree->layout();
  const cgroup::Names& names = state.groups->site.names;
  TreeView out{.cgroup_version = std::string(cgroup::Name(layout.version)),
               .driver = std::string(cgroup::Name(names.driver())),
               .root = names.root(),
               .host_groups = LookAt(door.host_groups, layout),
               .groups = {}};
  std::vector<const Pod*> pods;
  for (const PodSnapshot& pod : state.node.pods)
    if (pod.claimed) pods.push_back(pod.manifest.get());
  for (enforce::GroupState& group : enforce::Inspect(*tree, *state.engine, *state.groups, *state.node.ledger, pods))
    out.groups.push_back({.path = std::move(group.plan.path),
                          .what = std::move(group.plan.what),
                          .problem = std::move(group.problem),
                          .values = std::move(group.values)});
  return out;
}

}  // namespace berth::daemon
