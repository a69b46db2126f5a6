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
  if (!options_.partition.empty()) UsePartitions();
  FollowCpus();
  next_check_ = now;
}

void CpuReconciler::OnForeignWrite(std::string_view cpuset_dir, std::string who, os::MonoTime now) {
  const auto group = groups_.table().GroupOf(cpuset_dir);
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
  const os::MonoTime begin = clock_.Now();
  const bool done = RepairCpusets(now, slice);
  look_->cost += clock_.Now() - begin;
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
  auto repairs = groups_.cpusets().Repair(allocations_.ledger(), slice);
  look_->waits = !repairs && groups_.site().IsUnderWay(repairs.error());
  if (look_->waits) return false;
  if (!repairs) {
    events_.Warning("FailedCgroupUpdate", allocations_.ObjectOfNode(), repairs.error().message);
    pool_.ChangedUntil(now + kPoolRetry);
    return true;
  }
  if (!*repairs) return false;
  for (const cgroup_manager::Repaired& repair : **repairs) {
    const std::string who = WriterOf(look_->writers, repair.path);
    events_.Warning("CgroupRepaired", "cgroup/" + repair.path,
                    fmt::format("{}; {}put right", repair.what, who.empty() ? "" : "written by " + who + "; "));
  }
  return true;
}

// ---- exclusive CPUs as partitions of the kernel's ------------------------------------------------------------------

/// A kernel that cannot is no reason to run nothing: the cpusets keep containers apart all the same.
void CpuReconciler::UsePartitions() {
  auto why = groups_.partitions().Use(options_.partition, allocations_.ledger());
  if (why && why->empty()) return;
  events_.Warning("CpuPartitionUnavailable", allocations_.ObjectOfNode(),
                  fmt::format("cpuPartition: {}: {}; containers have their CPUs by cpusets alone, which keeps "
                              "other pods off them but not other processes of the host",
                              options_.partition, why ? *why : why.error().message));
}

void CpuReconciler::ReportProblems() {
  for (const auto& [path, why] : no_partition_.Untold(groups_.partitions().problems()))
    events_.Warning("CpuPartitionUnavailable", "cgroup/" + path,
                    fmt::format("the kernel makes it no partition of kind {}: {}; it has its CPUs by its "
                                "cpuset alone",
                                options_.partition, why));
  for (const auto& [path, why] : has_displaced_.Untold(groups_.cpusets().displaced_problems()))
    events_.Warning("FailedCgroupUpdate", "cgroup/" + path,
                    fmt::format("processes that the kernel moved into the cpuset above cannot be moved back: {}; "
                                "they run on all CPUs of their pod; tried again",
                                why));
}

// ---- CPUs that come and go ---------------------------------------------------------------------------------------

void CpuReconciler::FollowCpus() {
  auto online = groups_.site().tree().OnlineCpus();
  if (!online || !*online) return;
  const CpuSet before = allocations_.online().value_or(allocations_.node().all_cpus());
  allocations_.SetOnline(**online);
  if (**online != before) ReportCpus(before);
  const auto& in_force = groups_.cpusets().online();  // looked at in another moment
  if (**online != before || (in_force && in_force != *online)) pool_.Changed();
  allocations_.FollowOnline();
}

void CpuReconciler::ReportCpus(const CpuSet& before) {
  const std::string object = allocations_.ObjectOfNode();
  const CpuSet gone = before - *allocations_.online();
  const CpuSet back = *allocations_.online() - before;
  if (!gone.empty()) events_.Warning("CpusOffline", object, fmt::format("CPUs {} went offline", FormatIds(gone)));
  if (!back.empty()) events_.Normal("CpusOnline", object, fmt::format("CPUs {} came online", FormatIds(back)));
  for (const auto& [name, pool] : allocations_.ledger().pools)
    if (const CpuSet lost = pool.cpus & gone; !lost.empty())
      events_.Warning("CpusOffline", object,
                      fmt::format("{} lost CPUs {} of {}", PoolText(name), FormatIds(lost), FormatIds(pool.cpus)));
    else if (const CpuSet again = pool.cpus & back; !again.empty())
      events_.Normal("CpusOnline", object, fmt::format("{} has CPUs {} back", PoolText(name), FormatIds(again)));
  for (const auto& [uid, pod] : allocations_.ledger().pods)
    for (const Placement& placement : pod.placements) {
      if (!placement.cpus) continue;
      const std::string who = "pod/" + FullName(pod);
      const CpuSet left = *placement.cpus & *allocations_.online();
      if (placement.cpus->Intersects(gone))
        events_.Warning("CpusOffline", who,
                        fmt::format("container {} lost CPUs {} of {}; {}", placement.container,
                                    FormatIds(*placement.cpus & gone), FormatIds(*placement.cpus),
                                    left.empty() ? "it runs in the shared pool until they are back"
                                                 : "it keeps " + FormatIds(left)));
      else if (placement.cpus->Intersects(back))
        events_.Normal(
            "CpusOnline", who,
            fmt::format("container {} has CPUs {} back", placement.container, FormatIds(*placement.cpus & back)));
    }
}

}  // namespace berth::reconciler
