#include "enforce/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cgroup/systemd.h"

namespace berth::enforce {
namespace {

/// systemd before 253 writes it whenever something of a scope or of its neighbours changes, and has no property for it.
bool IsSystemdsDefault(cgroup::Driver driver, const ValueLine& line) {
  return driver == cgroup::Driver::kSystemd && line.file == "memory.oom.group" && line.found == "0";
}

}  // namespace

std::vector<GroupState> Values::Inspect(const Ledger& ledger, const std::vector<const Pod*>& pods) const {
  std::vector<GroupState> out;
  for (PlannedGroup& plan : planner_.Plan(ledger, pods)) {
    GroupState state{.plan = std::move(plan), .values = {}, .problem = {}};
    auto found = site_.tree().Read(state.plan.path);
    if (found && found->cpus && state.plan.values.cpus)
      if (const auto added = partitions_.Add(state.plan.path, *state.plan.values.cpus, *found->cpus); !added)
        found = std::unexpected(added.error());
    if (!found && found.error().code == Code::kNotFound && table_.containers().contains(state.plan.path) &&
        site_.names().driver() == cgroup::Driver::kSystemd)
      continue;  // a scope ends with its last process
    if (found) {
      state.values =
          cgroup::Compare(state.plan.values, *found, site_.tree().layout(), state.plan.why, site_.options().page);
    } else {
      state.problem = found.error().message;
    }
    out.push_back(std::move(state));
  }
  return out;
}

Result<std::vector<Repaired>> Values::Repair(const Ledger& ledger, const std::vector<const Pod*>& pods,
                                             const std::set<std::string>& only) {
  std::vector<Repaired> out;
  Result<void> first;
  const auto keep = [&](auto& done) {
    if (!done && done.error().code != Code::kNotFound && first) first = std::unexpected(std::move(done).error());
  };
  auto tiers = tiers_.Update(ledger);
  keep(tiers);
  for (PlannedGroup& group : planner_.Plan(ledger, pods)) {
    const bool above_pods = std::ranges::none_of(pods, [&](const Pod* pod) {
      const auto path = table_.pods().find(pod->uid);
      return path != table_.pods().end() && group.path.starts_with(path->second);
    });
    if (above_pods || (!only.empty() && !only.contains(group.path))) continue;
    group.values.cpus.reset();
    group.values.mems.reset();
    auto before = site_.tree().Read(group.path);
    const bool rounded = before && before->cpu_max && group.values.cpu_max &&
                         cgroup::IsRoundedBySystemd(*group.values.cpu_max, *before->cpu_max);
    if (!rounded || site_.names().driver() != cgroup::Driver::kSystemd) group.values.cpu_max.reset();
    auto written = before ? site_.tree().Write(group.path, group.values) : Result<int>(std::unexpected(before.error()));
    keep(written);
    if (!written || *written == 0) continue;
    for (const ValueLine& line :
         cgroup::Compare(group.values, *before, site_.tree().layout(), group.why, site_.options().page))
      if (!line.Same() && !(rounded && line.file == "cpu.max") && !IsSystemdsDefault(site_.names().driver(), line))
        out.push_back({group.path, fmt::format("{} was {}, must be {}", line.file, line.found, line.wanted)});
  }
  if (!first) return std::unexpected(std::move(first).error());
  return out;
}

}  // namespace berth::enforce
