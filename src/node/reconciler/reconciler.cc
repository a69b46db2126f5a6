#include "node/reconciler/reconciler.h"

#include <string_view>

namespace berth::reconciler {

Result<void> Reconciler::Begin(os::MonoTime now) {
  cpus_.Begin(now);
  groups_.LookForForeignGroups();
  values_.FindBehind();
  values_.LimitAllPods();
  return pressure_.Begin(eviction_);
}

/// Only cpusets are put right; other values somebody writes are his, unless it was systemd that wrote them.
void Reconciler::OnWrites(os::WriteWatch::Writes writes, os::MonoTime now) {
  for (os::FileWrite& write : writes.list) {
    const std::size_t slash = write.path.rfind('/');
    if (slash == std::string::npos) continue;
    const std::string_view dir = std::string_view(write.path).substr(0, slash);
    if (write.pid == 1 && values_.OnSystemdWrite(dir)) cpus_.CheckSoon(now);
    if (write.path.substr(slash + 1).starts_with("cpuset.")) cpus_.OnForeignWrite(dir, std::move(write.who), now);
  }
  if (writes.lost) cpus_.CheckSoon(now);
}

void Reconciler::Check(os::MonoTime now, os::Millis most, const os::Slice& slice) {
  const bool due = now >= cpus_.next_check();
  if (due) values_.LookAtRetold();
  cpus_.Check(now, most, slice);
  if (due) machine_.Check(now);
  values_.Work(slice);
  escaped_.Work(now);
}

void Reconciler::LookAtValues(os::MonoTime now) {
  if (!values_.limit_problem().empty()) values_.LimitAllPods();
  values_.LookAtAll(now);
  escaped_.Look();
}

std::vector<std::string> Reconciler::Warnings() const {
  std::vector<std::string> out;
  for (const std::string& problem : {pool_.problem(), values_.limit_problem()})
    if (!problem.empty()) out.push_back(problem);
  return out;
}

}  // namespace berth::reconciler
