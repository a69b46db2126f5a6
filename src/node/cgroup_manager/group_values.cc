#include "node/cgroup_manager/group_values.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "host/cgroup/systemd.h"
#include "host/cgroup/value_lines.h"

namespace berth::cgroup_manager {
namespace {

/// systemd before 253 writes it whenever something of a scope or of its neighbours changes, and has no property for it.
bool IsSystemdsDefault(cgroup::Driver driver, const ValueLine& line) {
  return driver == cgroup::Driver::kSystemd && line.file == "memory.oom.group" && line.found == "0";
}

}  // namespace

Result<void> Values::Repair(const Ledger& ledger, const Pod& pod, const std::set<std::string>& only,
                            std::vector<Repaired>& out) {
  Result<void> first;
  for (PlannedGroup& group : planner_.PlanPod(pod, ledger)) {
    if ((!only.empty() && !only.contains(group.path)) || table_.IsUnfinished(group.path)) continue;
    auto done = RepairGroup(std::move(group), out);
    if (!done && done.error().code != Code::kNotFound && first) first = std::move(done);
  }
  return first;
}

Result<void> Values::Lift(const Ledger& ledger, const Pod& pod) {
  const std::string pod_path = table_.PodPathOf(pod);
  Result<void> first;
  for (const PlannedGroup& group : planner_.PlanPod(pod, ledger)) {
    const bool of_pod = group.path == pod_path;
    if (table_.IsUnfinished(group.path) || (of_pod && !site_.names().per_qos())) continue;
    auto done = LiftGroup(group, of_pod ? cgroup::UnsetPodValues() : cgroup::UnsetContainerValues());
    if (!done && done.error().code != Code::kNotFound && first) first = std::move(done);
  }
  return first;
}

Result<void> Values::LiftGroup(const PlannedGroup& group, const CgroupValues& unset) {
  BERTH_TRY(const CgroupValues found, site_.tree().Read(group.path));
  const CgroupValues lifts = cgroup::Lifts(group.values, found, unset);
  if (lifts != CgroupValues()) BERTH_RETURN_IF_ERROR(site_.tree().Write(group.path, lifts));
  return {};
}

/// What grows is made room for above first, what shrinks gives up below first; the kernel refuses (v1) what comes in
/// the other order.
Result<void> Values::Put(const Ledger& ledger, const Pod& pod) {
  std::vector<PlannedGroup> groups = planner_.PlanPod(pod, ledger);
  std::erase_if(groups, [&](const PlannedGroup& group) { return table_.IsUnfinished(group.path); });
  Result<void> first;
  for (int turn = 0; turn < 3; ++turn) {  // from the top, from below, from the top
    first = {};
    for (const PlannedGroup& group : groups)
      if (auto done = PutOne(group); !done && first) first = std::move(done);
    if (first || first.error().sys != EINVAL) return first;  // not for the order
    std::ranges::reverse(groups);
  }
  return first;
}

/// Gone: success.
Result<void> Values::PutOne(const PlannedGroup& group) {
  CgroupValues values = group.values;
  values.cpus.reset();
  values.mems.reset();
  const auto written = site_.tree().Write(group.path, values);
  if (!written && written.error().code != Code::kNotFound) return std::unexpected(written.error());
  return {};
}

Result<void> Values::RepairGroup(PlannedGroup group, std::vector<Repaired>& out) {
  const bool systemd = site_.names().driver() == cgroup::Driver::kSystemd;
  group.values.cpus.reset();
  group.values.mems.reset();
  const bool told_before = told_.erase(group.path) > 0;
  BERTH_TRY(const CgroupValues before, site_.tree().Read(group.path));
  const bool rounded = systemd && before.cpu_max && group.values.cpu_max &&
                       cgroup::IsRoundedBySystemd(*group.values.cpu_max, *before.cpu_max);
  const auto written = site_.tree().Write(group.path, group.values);
  const bool told = !written && site_.IsUnderWay(written.error());
  if (told) told_.insert(group.path);
  if ((told && !told_before) || (written && *written > 0))
    for (const ValueLine& line :
         cgroup::Compare(group.values, before, site_.tree().layout(), group.why, site_.options().page))
      if (!line.Same() && !(rounded && line.file == "cpu.max") && !IsSystemdsDefault(site_.names().driver(), line))
        out.push_back({group.path, fmt::format("{} was {}, must be {}", line.file, line.found, line.wanted)});
  if (!written) return std::unexpected(written.error());
  return {};
}

}  // namespace berth::cgroup_manager
