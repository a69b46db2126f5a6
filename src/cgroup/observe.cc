#include "cgroup/observe.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace berth::cgroup {
namespace {

constexpr std::array kTiers = {QosClass::kGuaranteed, QosClass::kBurstable, QosClass::kBestEffort};

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

Result<void> AddTier(Tree& tree, const Names& names, QosClass qos, std::vector<RunningGroup>& out) {
  const std::string tier = names.Qos(qos);
  BERTH_TRY(const std::vector<std::string> pods, tree.Children(tier));
  for (const std::string& pod : pods) {
    const std::optional<std::string> uid = names.PodUid(pod);
    if (!uid) continue;
    const std::string path = tier.empty() ? pod : tier + "/" + pod;
    BERTH_TRY(const std::vector<std::string> containers, tree.Children(path));
    for (const std::string& group : containers) {
      const std::string name = names.ContainerName(*uid, group).value_or(group);
      BERTH_RETURN_IF_ERROR(Add(tree, {.path = path + "/" + group, .uid = *uid, .name = name, .qos = qos}, out));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<RunningGroup>> ObserveRunning(Tree& tree, const Names& names) {
  std::vector<RunningGroup> out;
  for (const QosClass qos : kTiers)
    if (names.per_qos() || qos == QosClass::kGuaranteed) BERTH_RETURN_IF_ERROR(AddTier(tree, names, qos, out));
  std::ranges::sort(out, {}, &RunningGroup::path);
  return out;
}

}  // namespace berth::cgroup
