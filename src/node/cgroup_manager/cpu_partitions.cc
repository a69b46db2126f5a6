#include "node/cgroup_manager/cpu_partitions.h"

#include <utility>

#include "host/cgroup/cpuset_partitions.h"

namespace berth::cgroup_manager {
namespace {

constexpr std::string_view kNone = "none";

}  // namespace

Result<std::string> CpuPartitions::Use(const std::string& kind, const Ledger& ledger) {
  kind_ = kNone;
  BERTH_TRY(std::string why, cgroup::WhyNoPartitions(site_.tree(), site_.names().Own()));
  if (!why.empty()) return kind == kNone ? std::string() : why;
  // Those of a berthd with another setting.
  BERTH_RETURN_IF_ERROR(cgroup::EndPartitions(site_.tree(), planner_.Partitions(kind_, ledger, std::nullopt)));
  kind_ = kind;
  return std::string();
}

Result<void> CpuPartitions::End(const Ledger& ledger) {
  if (kind_ == kNone) return {};
  BERTH_TRY(const Online online, site_.tree().OnlineCpus());
  return cgroup::EndPartitions(site_.tree(), planner_.Partitions(kind_, ledger, online));
}

Result<std::vector<std::string>> CpuPartitions::Settle(const Ledger& ledger) {
  if (kind_ == kNone) return std::vector<std::string>();
  BERTH_TRY(const Online online, site_.tree().OnlineCpus());
  cgroup::PartitionPlan plan = planner_.Partitions(kind_, ledger, online);
  for (const auto& [path, why] : problems_)  // refused before: not asked for again
    if (plan.wanted.erase(path) > 0) plan.others.push_back(path);
  BERTH_TRY(cgroup::PartitionOutcome outcome, cgroup::SettlePartitions(site_.tree(), plan));
  problems_.merge(outcome.refused);
  return std::move(outcome.changed);
}

Result<void> CpuPartitions::Add(const std::string& path, const CpuSet& wanted, CpuSet& cpus) const {
  if (kind_ == kNone || table_.containers().contains(path)) return {};
  const auto state = site_.tree().ReadPartition(path);
  if (!state) return state.error().code == Code::kNotFound ? Result<void>() : std::unexpected(state.error());
  if (*state && (*state)->exclusive) cpus |= *(*state)->exclusive & wanted;
  return {};
}

void CpuPartitions::Forget(const std::string& pod_path) {
  std::erase_if(problems_, [&](const auto& entry) { return entry.first.starts_with(pod_path + "/"); });
}

}  // namespace berth::cgroup_manager
