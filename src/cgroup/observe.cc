#include "cgroup/observe.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace berth::cgroup {
namespace {

constexpr std::string_view kPodPrefix = "pod";
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

}  // namespace

Result<std::vector<RunningGroup>> ObserveRunning(Tree& tree) {
  std::vector<RunningGroup> out;
  for (const QosClass qos : kTiers) {
    const std::string tier = QosPath(qos);
    BERTH_TRY(const std::vector<std::string> pods, tree.Children(tier));
    for (const std::string& pod : pods) {
      if (!pod.starts_with(kPodPrefix)) continue;
      const std::string path = tier + "/" + pod;
      BERTH_TRY(const std::vector<std::string> containers, tree.Children(path));
      for (const std::string& name : containers) {
        RunningGroup group{.path = path + "/" + name, .uid = pod.substr(kPodPrefix.size()), .name = name, .qos = qos};
        BERTH_RETURN_IF_ERROR(Add(tree, std::move(group), out));
      }
    }
  }
  std::ranges::sort(out, {}, &RunningGroup::path);
  return out;
}

}  // namespace berth::cgroup
