#include "node/reconciler/cpu_reconciler.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace berth::reconciler {
namespace {

constexpr os::Millis kPoolRetry{1'000};
/// Between two looks at the CPUs that are online and at all cpusets; the latter are looked at less often when that
/// takes longer than a two-thousandth of this time.
constexpr os::Millis kCheckPeriod{500};
constexpr std::int64_t kCheckShare = 2'000;
/// Between two looks that foreign writes ask for: somebody who writes all the time must not keep the loop busy.
constexpr os::Millis kAfterWrite{20};

/// Who wrote to the group or one above it; "" when that is not known.
std::string WriterOf(const std::map<std::string, std::string>& writers, std::string_view path) {
  for (;;) {
    if (const auto it = writers.find(std::string(path)); it != writers.end()) return it->second;
    const std::size_t slash = path.rfind('/');
    if (slash == std::string_view::npos) return "";
    path = path.substr(0, slash);
  }
}

}  // namespace

void CpuReconciler::Begin(os::MonoTime now) {
  if (parts_.groups.site().owns_pods()) UsePartitions();
  FollowCpus();
  next_check_ = now;
}

void CpuReconciler::OnForeignWrite(std::string_view cpuset_dir, std::string who, os::MonoTime now) {
  const auto group = parts_.groups.table().GroupOf(cpuset_dir);
  if (!group) return;
  if (!who.empty()) writers_[*group] = std::move(who);
  CheckSoon(now);
}

void CpuReconciler::CheckSoon(os::MonoTime now) {
  next_check_ = std::min(next_check_, std::max(now, last_check_ + kAfterWrite));
  next_look_ = std::min(next_look_, next_check_);
}

void CpuReconciler::Check(os::MonoTime now, os::Millis most, const os::Slice& slice) {
  if (now < next_check_ && !working()) return;
  const os::Millis period = std::min(kCheckPeriod, most);
  if (now >= next_check_) {
    last_check_ = now;
    next_check_ = now + period;
    FollowCpus();
    ReportProblems();
  }
  if (!pool_.in_force() || pool_.ahead()) return GiveUpLook();  // all cpusets are about to be written anyway
  if (!look_) {
    if (now < next_look_) return;
    look_.emplace(Look{.writers = std::exchange(writers_, {})});
    next_look_ = os::MonoTime::max();  // until somebody writes meanwhile
  }
  const os::MonoTime begin = parts_.clock.Now();
  const bool done = RepairCpusets(now, slice);
  look_->cost += parts_.clock.Now() - begin;
  if (!done) return;
  const auto cost = std::chrono::duration_cast<os::Millis>(look_->cost * kCheckShare);
  next_look_ = std::min(next_look_, now + std::clamp(cost, period, most));
  look_.reset();
}

void CpuReconciler::GiveUpLook() {
  if (!look_) return;
  writers_.merge(look_->writers);
  next_look_ = next_check_;
  look_.reset();
}

/// False: to be gone on with.
bool CpuReconciler::RepairCpusets(os::MonoTime now, const os::Slice& slice) {
  auto repairs = parts_.groups.cpusets().Repair(parts_.allocations.ledger(), slice);
  look_->waits = !repairs && parts_.groups.site().IsUnderWay(repairs.error());
  if (look_->waits) return false;
  if (!repairs) {
    parts_.events.Warning("FailedCgroupUpdate", parts_.ObjectOfNode(), repairs.error().message);
    pool_.ChangedUntil(now + kPoolRetry);
    return true;
  }
  if (!*repairs) return false;
  for (const cgroup_manager::Repaired& repair : **repairs) {
    const std::string who = WriterOf(look_->writers, repair.path);
    parts_.events.Warning("CgroupRepaired", "cgroup/" + repair.path,
                          fmt::format("{}; {}put right", repair.what, who.empty() ? "" : "written by " + who + "; "));
  }
  return true;
}

// ---- exclusive CPUs as partitions of the kernel's ------------------------------------------------------------------

/// A kernel that cannot is no reason to run nothing: the cpusets keep containers apart all the same.
void CpuReconciler::UsePartitions() {
  auto why = parts_.groups.partitions().Use(options_.partition, parts_.allocations.ledger());
  if (why && why->empty()) return;
  parts_.events.Warning("CpuPartitionUnavailable", parts_.ObjectOfNode(),
                        fmt::format("cpuPartition: {}: {}; containers have their CPUs by cpusets alone, which keeps "
                                    "other pods off them but not other processes of the host",
                                    options_.partition, why ? *why : why.error().message));
}

void CpuReconciler::ReportProblems() {
  for (const auto& [path, why] : no_partition_.Untold(parts_.groups.partitions().problems()))
    parts_.events.Warning("CpuPartitionUnavailable", "cgroup/" + path,
                          fmt::format("the kernel makes it no partition of kind {}: {}; it has its CPUs by its "
                                      "cpuset alone",
                                      options_.partition, why));
  for (const auto& [path, why] : has_displaced_.Untold(parts_.groups.cpusets().displaced_problems()))
    parts_.events.Warning("FailedCgroupUpdate", "cgroup/" + path,
                          fmt::format("processes that the kernel moved into the cpuset above cannot be moved back: {}; "
                                      "they run on all CPUs of their pod; tried again",
                                      why));
}

// ---- CPUs that come and go ---------------------------------------------------------------------------------------

void CpuReconciler::FollowCpus() {
  auto online = parts_.tree.OnlineCpus();
  if (!online || !*online) return;
  const CpuSet before = parts_.allocations.online().value_or(parts_.allocations.node().all_cpus());
  parts_.allocations.SetOnline(**online);
  if (**online != before) ReportCpus(before);
  const auto& in_force = parts_.groups.cpusets().online();  // looked at in another moment
  if (**online != before || (in_force && in_force != *online)) pool_.Changed();
  parts_.allocations.FollowOnline();
}

void CpuReconciler::ReportCpus(const CpuSet& before) {
  const std::string object = parts_.ObjectOfNode();
  const CpuSet gone = before - *parts_.allocations.online();
  const CpuSet back = *parts_.allocations.online() - before;
  if (!gone.empty()) parts_.events.Warning("CpusOffline", object, fmt::format("CPUs {} went offline", FormatIds(gone)));
  if (!back.empty()) parts_.events.Normal("CpusOnline", object, fmt::format("CPUs {} came online", FormatIds(back)));
  for (const auto& [name, pool] : parts_.allocations.ledger().pools)
    if (const CpuSet lost = pool.cpus & gone; !lost.empty())
      parts_.events.Warning(
          "CpusOffline", object,
          fmt::format("{} lost CPUs {} of {}", PoolText(name), FormatIds(lost), FormatIds(pool.cpus)));
    else if (const CpuSet again = pool.cpus & back; !again.empty())
      parts_.events.Normal("CpusOnline", object, fmt::format("{} has CPUs {} back", PoolText(name), FormatIds(again)));
  for (const auto& [uid, pod] : parts_.allocations.ledger().pods)
    for (const Placement& placement : pod.placements) {
      if (!placement.cpus) continue;
      const std::string who = "pod/" + FullName(pod);
      const CpuSet left = *placement.cpus & *parts_.allocations.online();
      if (placement.cpus->Intersects(gone))
        parts_.events.Warning("CpusOffline", who,
                              fmt::format("container {} lost CPUs {} of {}; {}", placement.container,
                                          FormatIds(*placement.cpus & gone), FormatIds(*placement.cpus),
                                          left.empty() ? "it runs in the shared pool until they are back"
                                                       : "it keeps " + FormatIds(left)));
      else if (placement.cpus->Intersects(back))
        parts_.events.Normal(
            "CpusOnline", who,
            fmt::format("container {} has CPUs {} back", placement.container, FormatIds(*placement.cpus & back)));
    }
}

}  // namespace berth::reconciler
