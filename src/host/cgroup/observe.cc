#include "host/cgroup/observe.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "host/cgroup/group_processes.h"
#include "host/os/pidfd.h"

namespace berth::cgroup {
namespace {

constexpr std::size_t kMostSurvivors = 8;  // of a group, that are told

/// The group of one container; nothing is added when it is gone.
Result<void> Add(Tree& tree, RunningGroup group, std::vector<RunningGroup>& out) {
  auto values = tree.Read(group.path);
  if (!values && values.error().code == Code::kNotFound) return {};
  if (!values) return std::unexpected(std::move(values).error());
  BERTH_TRY(const std::vector<int> pids, tree.Pids(group.path));
  group.cpus = values->cpus.value_or(CpuSet());
  group.mems = values->mems.value_or(NodeSet());
  group.busy = !pids.empty();
  out.push_back(std::move(group));
  return {};
}

}  // namespace

Result<std::vector<PodGroup>> FindPodGroups(Tree& tree, const Names& names) {
  std::vector<PodGroup> out;
  for (const QosClass qos : names.Tiers()) {
    const std::string tier = names.Qos(qos);
    BERTH_TRY(const std::vector<std::string> groups, tree.Children(tier));
    for (const std::string& group : groups)
      if (std::optional<std::string> uid = names.PodUid(group))
        out.push_back({tier.empty() ? group : tier + "/" + group, *std::move(uid), qos});
  }
  std::ranges::sort(out, {}, &PodGroup::path);
  return out;
}

Result<std::vector<RunningGroup>> ObserveRunning(Tree& tree, const Names& names) {
  std::vector<RunningGroup> out;
  BERTH_TRY(const std::vector<PodGroup> pods, FindPodGroups(tree, names));
  for (const PodGroup& pod : pods) {
    BERTH_TRY(const std::vector<std::string> containers, tree.Children(pod.path));
    for (const std::string& group : containers) {
      const std::string name = names.ContainerName(pod.uid, group).value_or(group);
      BERTH_RETURN_IF_ERROR(
          Add(tree, {.path = pod.path + "/" + group, .uid = pod.uid, .name = name, .qos = pod.qos}, out));
    }
  }
  std::ranges::sort(out, {}, &RunningGroup::path);
  return out;
}

Result<void> AddSurvivors(Tree& tree, std::vector<RunningGroup>& running) {
  for (RunningGroup& group : running) {
    BERTH_TRY(const std::vector<int> pids, tree.Pids(group.path));
    for (const int pid : pids)
      if (group.survivors.size() < kMostSurvivors && os::SurvivesKill(pid)) group.survivors.push_back(PidList({pid}));
  }
  return {};
}

}  // namespace berth::cgroup
