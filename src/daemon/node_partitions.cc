// NodeCgroups: exclusive CPUs as partitions of the kernel's (cpuPartition).
#include <fmt/format.h>

#include "cgroup/partitions.h"
#include "daemon/node_cgroups.h"

namespace berth::daemon {
namespace {

constexpr std::string_view kNone = "none";

}  // namespace

/// CPUs that went offline stay in the plan, as long as one is left: the kernel takes them back by itself.
cgroup::PartitionPlan NodeCgroups::PartitionsOf(const Ledger& ledger, const std::optional<CpuSet>& online) const {
  cgroup::PartitionPlan out{.kind = partition_, .wanted = {}, .others = {}, .levels = {}};
  if (names_.per_qos()) out.levels.push_back(names_.Qos(QosClass::kGuaranteed));
  for (const auto& [uid, path] : pods_) out.levels.push_back(path);
  for (const auto& [path, group] : containers_) {
    const auto pod = ledger.pods.find(group.uid);
    const Placement* placement = pod == ledger.pods.end() ? nullptr : FindPlacement(pod->second, group.container);
    const bool own = placement != nullptr && placement->cpus && !placement->cpus->empty();
    if (own && partition_ != kNone && (!online || placement->cpus->Intersects(*online)))
      out.wanted.emplace(path, *placement->cpus);
    else
      out.others.push_back(path);
  }
  return out;
}

Result<std::string> NodeCgroups::UsePartitions(const std::string& kind, const Ledger& ledger) {
  partition_ = kNone;
  BERTH_TRY(std::string why, cgroup::WhyNoPartitions(tree_, names_.Own()));
  if (!why.empty()) return kind == kNone ? std::string() : why;
  // Those of a berthd with another setting.
  BERTH_RETURN_IF_ERROR(cgroup::EndPartitions(tree_, PartitionsOf(ledger, std::nullopt)));
  partition_ = kind;
  return std::string();
}

Result<void> NodeCgroups::EndPartitions(const Ledger& ledger) {
  if (partition_ == kNone) return {};
  BERTH_TRY(const std::optional<CpuSet> online, tree_.OnlineCpus());
  return cgroup::EndPartitions(tree_, PartitionsOf(ledger, online));
}

Result<std::vector<std::string>> NodeCgroups::SettlePartitions(const Ledger& ledger) {
  if (partition_ == kNone) return std::vector<std::string>();
  BERTH_TRY(const std::optional<CpuSet> online, tree_.OnlineCpus());
  cgroup::PartitionPlan plan = PartitionsOf(ledger, online);
  for (const auto& [path, why] : partition_problems_)  // refused before: not asked for again
    if (plan.wanted.erase(path) > 0) plan.others.push_back(path);
  BERTH_TRY(cgroup::PartitionOutcome outcome, cgroup::SettlePartitions(tree_, plan));
  partition_problems_.merge(outcome.refused);
  return std::move(outcome.changed);
}

/// What partitions below a level take is not among its effective CPUs (`cpus`), and still its own.
Result<void> NodeCgroups::AddPartitioned(const std::string& path, const CpuSet& wanted, CpuSet& cpus) const {
  if (partition_ == kNone || containers_.contains(path)) return {};
  const auto state = tree_.ReadPartition(path);
  if (!state) return state.error().code == Code::kNotFound ? Result<void>() : std::unexpected(state.error());
  if (*state && (*state)->exclusive) cpus |= *(*state)->exclusive & wanted;
  return {};
}

}  // namespace berth::daemon
