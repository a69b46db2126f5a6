#include "host/cgroup/cpuset_partitions.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>
#include <utility>

namespace berth::cgroup {
namespace {

constexpr std::string_view kMember = "member";

using Sets = std::map<std::string, CpuSet>;  // parents first

/// Levels above `path`, Berth's root ("") among them.
std::vector<std::string> Above(const std::string& path) {
  std::vector<std::string> out{""};
  for (std::size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
    out.push_back(path.substr(0, slash));
  return out;
}

/// What each level has to list.
Sets LevelSets(const PartitionPlan& plan) {
  Sets out;
  const auto add = [&](const std::string& path, const CpuSet& cpus) {
    for (const std::string& level : Above(path)) out[level] |= cpus;
  };
  for (const auto& [path, cpus] : plan.wanted) add(path, cpus);
  for (const std::string& path : plan.others) add(path, CpuSet());
  for (const std::string& level : plan.levels) out.try_emplace(level), add(level, CpuSet());
  return out;
}

/// nullopt: gone, or without partitions.
Result<std::optional<PartitionState>> Look(Tree& tree, const std::string& path) {
  auto state = tree.ReadPartition(path);
  if (!state && state.error().code == Code::kNotFound) return std::nullopt;
  if (state && *state && !(*state)->exclusive) return std::nullopt;
  return state;
}

Result<void> SetLevel(Tree& tree, const std::string& level, const std::function<CpuSet(const CpuSet& now)>& next) {
  BERTH_TRY(const auto state, Look(tree, level));
  if (!state) return {};
  const CpuSet cpus = next(*state->exclusive);
  return cpus == *state->exclusive ? Result<void>() : tree.WriteExclusive(level, cpus);
}

Result<void> Shrink(Tree& tree, const Sets& levels) {
  for (auto level = levels.rbegin(); level != levels.rend(); ++level)
    BERTH_RETURN_IF_ERROR(SetLevel(tree, level->first, [&](const CpuSet& now) { return now & level->second; }));
  return {};
}

Result<void> End(Tree& tree, const std::string& path) {
  BERTH_TRY(const auto state, Look(tree, path));
  if (!state) return {};
  if (state->kind != kMember) BERTH_RETURN_IF_ERROR(tree.WritePartition(path, kMember));
  return state->exclusive->empty() ? Result<void>() : tree.WriteExclusive(path, CpuSet());
}

/// The kernel's reason in "isolated invalid (reason)".
std::string ReasonIn(std::string_view kind) {
  const std::size_t open = kind.find('(');
  const std::size_t close = kind.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return std::string(kind);
  return std::string(kind.substr(open + 1, close - open - 1));
}

/// It is no refusal, and to be repeated (Tree::WaitBehind).
bool IsUnderWay(Tree& tree, const Error& error) { return error.code == Code::kBusy && tree.asking(); }

/// Why the kernel does not; empty: it is what it shall be.
Result<std::string> Make(Tree& tree, const std::string& path, const std::string& kind, const CpuSet& cpus,
                         PartitionOutcome& out) {
  BERTH_TRY(const auto state, Look(tree, path));
  if (!state || (state->kind == kind && *state->exclusive == cpus)) return std::string();
  out.changed.push_back(path);
  if (*state->exclusive != cpus)
    if (auto written = tree.WriteExclusive(path, cpus); !written) {
      if (IsUnderWay(tree, written.error())) return std::unexpected(std::move(written).error());
      return std::move(written).error().message;
    }
  if (auto written = tree.WritePartition(path, kind); !written) return std::move(written).error().message;
  BERTH_TRY(const auto now, Look(tree, path));
  return !now || now->kind == kind ? std::string() : ReasonIn(now->kind);
}

}  // namespace

Result<std::string> WhyNoPartitions(Tree& tree, std::string_view path) {
  BERTH_TRY(const auto state, tree.ReadPartition(path));
  if (!state) return std::string("it needs cgroup v2 with the cpuset controller");
  if (!state->exclusive)
    return std::string(
        "this kernel makes partitions only of groups below other partitions; containers need "
        "cpuset.cpus.exclusive, which Linux has from 6.7 on");
  return std::string();
}

Result<void> EndPartitions(Tree& tree, const PartitionPlan& plan) {
  for (const std::string& path : plan.others) BERTH_RETURN_IF_ERROR(End(tree, path));
  return Shrink(tree, LevelSets(plan));
}

Result<PartitionOutcome> SettlePartitions(Tree& tree, const PartitionPlan& plan) {
  PartitionOutcome out;
  for (const std::string& path : plan.others) BERTH_RETURN_IF_ERROR(End(tree, path));
  std::string why_no_room;
  for (const auto& [level, cpus] : LevelSets(plan))
    if (auto grown = SetLevel(tree, level, [&](const CpuSet& now) { return now | cpus; }); !grown) {
      if (IsUnderWay(tree, grown.error())) return std::unexpected(std::move(grown).error());
      why_no_room = std::move(grown).error().message;
    }
  PartitionPlan kept = plan;
  for (const auto& [path, cpus] : plan.wanted) {
    BERTH_TRY(std::string why, Make(tree, path, plan.kind, cpus, out));
    if (why.empty()) continue;
    BERTH_RETURN_IF_ERROR(End(tree, path));
    out.refused.emplace(path, why_no_room.empty() ? std::move(why) : why_no_room);
    kept.wanted.erase(path);
    kept.others.push_back(path);
  }
  BERTH_RETURN_IF_ERROR(Shrink(tree, LevelSets(kept)));
  return out;
}

}  // namespace berth::cgroup
