#include "guard/guard.h"

namespace berth::guard {

Result<void> Guard::Begin(os::MonoTime now) {
  cpus_.Begin(now);
  groups_.LookForForeignGroups();
  values_.LimitAllPods();
  return pressure_.Begin();
}

void Guard::OnSystemdWrite(std::string_view cpuset_dir, os::MonoTime now) {
  if (values_.OnSystemdWrite(cpuset_dir)) cpus_.CheckSoon(now);
}

void Guard::Check(os::MonoTime now, os::Millis most) {
  if (now < cpus_.next_check()) return;
  values_.RepairRetold();
  cpus_.Check(now, most);
}

void Guard::Reconcile(os::MonoTime now, bool all_known) {
  if (!values_.limit_problem().empty()) values_.LimitAllPods();
  values_.Repair(now);
  groups_.LookForForeignGroups();
  groups_.LookForForeignContainers();
  if (all_known) groups_.RemoveUnused();
}

std::vector<std::string> Guard::Warnings() const {
  std::vector<std::string> out;
  for (const std::string& problem : {pool_.problem(), values_.limit_problem()})
    if (!problem.empty()) out.push_back(problem);
  return out;
}

}  // namespace berth::guard
