#include "node/cgroup_manager/site.h"

#include "host/os/host.h"

namespace berth::cgroup_manager {
namespace {

Bytes AllocatableMemory(const allocator::Node& node) {
  const auto it = node.allocatable().find("memory");
  return {it == node.allocatable().end() ? 0 : it->second.Value()};
}

int ListedCpus(const KubeletConfiguration& config) {
  if (config.reserved_system_cpus.empty()) return -1;
  const auto cpus = CpuSet::Parse(config.reserved_system_cpus);  // allocator::Node::Make has refused what is no list
  return cpus ? static_cast<int>(cpus->Count()) : -1;
}

}  // namespace

Result<void> Site::ReadSettings() {
  const KubeletConfiguration& config = node_.config();
  facts_.options = cgroup::OptionsOf(config, node_.kubelet(), v2(), AllocatableMemory(node_));
  facts_.options.page = os::PageSize();
  BERTH_TRY(const auto pids, tree_.PidCapacity());
  BERTH_TRY(facts_.shares,
            cgroup::SharesOfNode(config, node_.kubelet(), node_.capacity(), pids, ListedCpus(config), v2()));
  return {};
}

Result<void> Site::SetNode(allocator::Node node) {
  node_ = std::move(node);
  return ReadSettings();
}

std::vector<std::string> Site::OwnGroups() const {
  return facts_.has_own_groups ? ownership().OwnGroups(names()) : std::vector<std::string>();
}

bool Site::BelowTier(std::string_view path) const {
  return std::ranges::any_of(
      tiers(), [&](QosClass qos) { return qos != QosClass::kGuaranteed && path.starts_with(names().Qos(qos) + "/"); });
}

Result<void> Site::WriteUnlessGone(const std::string& path, const CgroupValues& values) const {
  auto written = tree_.Write(path, values);
  if (!written && written.error().code != Code::kNotFound) return std::unexpected(std::move(written).error());
  return {};
}

}  // namespace berth::cgroup_manager
