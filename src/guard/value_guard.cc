#include "guard/value_guard.h"

#include <utility>

namespace berth::guard {
namespace {

constexpr os::Millis kRepairPeriod{60'000};  // less often than CPUs and memory nodes

}  // namespace

bool ValueGuard::OnSystemdWrite(std::string_view cpuset_dir) {
  auto group = parts_.groups.table().GroupOf(cpuset_dir);
  if (!group || group->empty()) return false;
  retold_.insert(*std::move(group));
  return true;
}

void ValueGuard::RepairRetold() {
  if (!retold_.empty()) RepairOnly(std::exchange(retold_, {}));
}

void ValueGuard::Repair(os::MonoTime now) {
  if (now < next_repair_) return;
  next_repair_ = now + kRepairPeriod;
  RepairOnly({});
}

/// Of all groups when none are named.
void ValueGuard::RepairOnly(const std::set<std::string>& only) {
  std::vector<const Pod*> known;
  for (const auto& [uid, managed] : parts_.pods)
    if (managed.claimed && !managed.Is<pods::Ending>()) known.push_back(&managed.pod);
  auto repairs = parts_.groups.values().Repair(parts_.keeper.ledger(), known, only);
  if (!repairs && parts_.groups.site().IsUnderWay(repairs.error())) {
    retold_.insert(only.begin(), only.end());
    if (only.empty()) next_repair_ = {};
    return;
  }
  if (!repairs) {
    parts_.events.Warning("FailedCgroupUpdate", parts_.ObjectOfNode(), repairs.error().message);
    return;
  }
  for (const enforce::Repaired& repair : *repairs)
    parts_.events.Warning("CgroupRepaired", "cgroup/" + repair.path, repair.what + "; put right");
}

void ValueGuard::LimitAllPods() {
  const std::string object = parts_.ObjectOfNode();
  std::string problem = parts_.groups.tiers().LimitAllPods();
  if (!problem.empty() && limit_problem_.empty())
    parts_.events.Warning("FailedNodeAllocatableEnforcement", object, problem);
  if (problem.empty() && !limit_problem_.empty())
    parts_.events.Normal("NodeAllocatableEnforced", object, "the memory limit of all pods is in force");
  limit_problem_ = std::move(problem);
}

std::vector<enforce::GroupState> InspectGroups(const pods::Pods& pods, const enforce::Enforcer& groups,
                                               const Ledger& ledger) {
  std::vector<const Pod*> known;
  for (const auto& [uid, managed] : pods)
    if (managed.claimed) known.push_back(&managed.pod);
  return groups.values().Inspect(ledger, known);
}

}  // namespace berth::guard
