#include "daemon/tree_status.h"

#include <fmt/core.h>

#include <map>
#include <memory>
#include <utility>

#include "base/text.h"
#include "daemon/host_groups.h"
#include "daemon/reserved_groups.h"
#include "host/cgroup/escaped_processes.h"
#include "host/cgroup/oom_score.h"
#include "host/os/fs.h"
#include "node/cgroup_manager/inspect.h"

namespace berth::daemon {

namespace {

/// Processes of containers that are not in their groups, a sentence by the group's path.
std::map<std::string, std::string> StraysOf(const LoopState& state, const cgroup::Layout& layout) {
  std::map<std::pair<std::string, std::string>, cgroup::Home> known;  // by uid and container; without their paths
  for (const PodSnapshot& pod : state.node.pods)
    for (const ContainerView& container : pod.view->containers)
      if (container.phase == ContainerPhase::kRunning && container.last)
        known.emplace(std::pair(pod.view->uid, container.name),
                      cgroup::Home{.path = {}, .main_pid = container.last->pid});
  std::vector<std::string> paths;
  std::vector<cgroup::Home> homes;
  for (const auto& [path, group] : state.groups->groups.containers) {
    const auto home = known.find({group.uid, group.container});
    if (home == known.end()) continue;
    paths.push_back(path);
    homes.push_back(home->second);
    homes.back().path = state.groups->site.names.FromTop(path);
  }
  std::map<std::string, std::string> out;
  const auto root = os::OpenFs("/");
  const auto threads = TakenCpus(*state.node.ledger).empty() ? cgroup::Threads::kNo : cgroup::Threads::kYes;
  const auto strays = root ? cgroup::FindStrays(**root, layout, homes, threads) : std::unexpected(root.error());
  if (!strays) return out;
  for (const cgroup::Stray& stray : *strays) out[paths[stray.home]] = cgroup::StrayText(stray, "it");
  return out;
}

/// Each reserved group beside what it should hold.
std::vector<HostGroup> ReservedOf(const TreeDoor& door, const cgroup::Layout& layout) {
  std::vector<HostGroup> out;
  for (const cgroup::ReservedGroup& reserved : door.reserved) {
    const auto path = PathOfReserved(door.driver, reserved);
    HostGroup group = LookAt({{reserved.what, path.value_or(reserved.group)}}, layout).front();
    auto values = InspectReserved("/", layout, door.driver, reserved);
    if (values)
      group.values = *std::move(values);
    else if (group.problem.empty())
      group.problem = values.error().message;
    out.push_back(std::move(group));
  }
  return out;
}

/// What the main process of each container has, by the container's path. It is set when the process starts; what the
/// container does to it later is its own affair.
std::map<std::string, ValueLine> OomScoresOf(const LoopState& state) {
  std::map<std::string, ValueLine> out;
  const auto root = os::OpenFs("/");
  if (!root) return out;
  const Bytes capacity = state.engine->machine().memory;
  for (const PodSnapshot& pod : state.node.pods) {
    ForEachContainer(*pod.manifest, [&](const Container& container, ContainerKind) {
      for (const ContainerView& view : pod.view->containers) {
        if (view.name != container.name || view.phase != ContainerPhase::kRunning || !view.last || !view.place)
          continue;
        const auto found = (*root)->Read(fmt::format("/proc/{}/oom_score_adj", view.last->pid));
        if (view.last->pid <= 0 || !found) continue;
        std::string value(Trim(*found));
        out[view.place->cgroup] = {.file = "oom_score_adj",
                                   .wanted = value,
                                   .found = value,
                                   .why = fmt::format("of its main process; {} when it starts",
                                                      cgroup::OomScoreAdj(*pod.manifest, container, capacity))};
      }
    });
  }
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
  for (HostGroup& reserved : ReservedOf(door, layout)) out.host_groups.push_back(std::move(reserved));
  std::vector<const Pod*> pods;
  for (const PodSnapshot& pod : state.node.pods)
    if (pod.claimed) pods.push_back(pod.manifest.get());
  const std::map<std::string, std::string> strays = StraysOf(state, layout);
  const std::map<std::string, ValueLine> scores = OomScoresOf(state);
  for (cgroup_manager::GroupState& group :
       cgroup_manager::Inspect(*tree, *state.engine, *state.groups, *state.node.ledger, pods)) {
    const auto stray = strays.find(group.plan.path);
    if (group.ended && stray == strays.end()) continue;
    if (stray != strays.end() && group.problem.empty()) group.problem = stray->second;
    if (const auto score = scores.find(group.plan.path); score != scores.end() && group.problem.empty())
      group.values.push_back(score->second);
    out.groups.push_back({.path = std::move(group.plan.path),
                          .what = std::move(group.plan.what),
                          .problem = std::move(group.problem),
                          .values = std::move(group.values)});
  }
  return out;
}

}  // namespace berth::daemon
