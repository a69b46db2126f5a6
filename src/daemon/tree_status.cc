#include "daemon/tree_status.h"

#include <map>
#include <memory>

#include "cgroup/strays.h"
#include "daemon/host_groups.h"
#include "enforce/inspect.h"
#include "os/fs.h"

namespace berth::daemon {

namespace {

/// Processes of containers that are not in their groups, a sentence by the group's path.
std::map<std::string, std::string> StraysOf(const LoopState& state, const cgroup::Layout& layout) {
  std::map<std::pair<std::string, std::string>, int> pids;  // by uid and container
  for (const PodSnapshot& pod : state.node.pods)
    for (const ContainerView& container : pod.view->containers)
      if (container.phase == ContainerPhase::kRunning && container.last)
        pids.emplace(std::pair(pod.view->uid, container.name), container.last->pid);
  std::vector<std::string> paths;
  std::vector<cgroup::Home> homes;
  for (const auto& [path, group] : state.groups->groups.containers) {
    const auto pid = pids.find({group.uid, group.container});
    if (pid == pids.end()) continue;
    paths.push_back(path);
    homes.push_back({.path = state.groups->site.names.FromTop(path), .main_pid = pid->second});
  }
  std::map<std::string, std::string> out;
  const auto root = os::OpenFs("/");
  const auto strays = root ? cgroup::FindStrays(**root, layout, homes) : std::unexpected(root.error());
  if (!strays) return out;
  for (const cgroup::Stray& stray : *strays) out[paths[stray.home]] = cgroup::StrayText(stray, "it");
  return out;
}

}  // namespace

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
  const std::map<std::string, std::string> strays = StraysOf(state, layout);
  for (enforce::GroupState& group : enforce::Inspect(*tree, *state.engine, *state.groups, *state.node.ledger, pods)) {
    const auto stray = strays.find(group.plan.path);
    if (group.ended && stray == strays.end()) continue;
    if (stray != strays.end() && group.problem.empty()) group.problem = stray->second;
    out.groups.push_back({.path = std::move(group.plan.path),
                          .what = std::move(group.plan.what),
                          .problem = std::move(group.problem),
                          .values = std::move(group.values)});
  }
  return out;
}

}  // namespace berth::daemon
