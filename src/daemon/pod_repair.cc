// PodManager: what the world did meanwhile. The kernel's files, the CPUs and the runtime are compared with the ledger;
// only what differs is written.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/adopt.h"
#include "daemon/fingerprint.h"
#include "daemon/pod_manager.h"

namespace berth::daemon {
namespace {

constexpr os::Millis kPoolRetry{1'000};
constexpr os::Millis kValuePeriod{60'000};  // values other than CPUs and memory nodes are looked at less often
/// Between two looks at the CPUs that are online and at all cpusets; the latter are looked at less often when that
/// takes longer than a two-thousandth of this time.
constexpr os::Millis kCheckPeriod{500};
constexpr std::int64_t kCheckShare = 2'000;
/// Between two looks that foreign writes ask for: somebody who writes all the time must not keep the loop busy.
constexpr os::Millis kAfterWrite{20};

bool SameMemory(const engine::Node& a, const engine::Node& b) {
  return std::ranges::equal(a.EmptyLedger().memory, b.EmptyLedger().memory);
}

/// Who wrote to the group or one above it; "" when that is not known.
std::string WriterOf(const std::map<std::string, std::string>& writers, std::string_view path) {
  for (;;) {
    if (const auto it = writers.find(std::string(path)); it != writers.end()) return it->second;
    const std::size_t slash = path.rfind('/');
    if (slash == std::string_view::npos) return "";
    path = path.substr(0, slash);
  }
}

/// Problems (path -> why) that were not told yet; those that are gone may be told again.
std::map<std::string, std::string> Untold(std::set<std::string>& told,
                                          const std::map<std::string, std::string>& problems) {
  std::erase_if(told, [&](const std::string& path) { return !problems.contains(path); });
  std::map<std::string, std::string> out;
  for (const auto& problem : problems)
    if (told.insert(problem.first).second) out.insert(problem);
  return out;
}

}  // namespace

void PodManager::Tick(os::MonoTime now) {
  if (now >= next_check_) Check(now);
  if (now >= next_due_ || pool_dirty_) Sync(now);
}

void PodManager::OnForeignWrite(std::string_view cpuset_dir, std::string who, os::MonoTime now) {
  const auto group = groups_.GroupOf(cpuset_dir);
  if (!group) return;
  if (!who.empty()) writers_[*group] = std::move(who);
  CheckSoon(now);
}

void PodManager::OnSystemdWrite(std::string_view cpuset_dir, os::MonoTime now) {
  auto group = groups_.GroupOf(cpuset_dir);
  if (!group || group->empty()) return;
  retold_.insert(*std::move(group));
  CheckSoon(now);
}

void PodManager::CheckSoon(os::MonoTime now) {
  next_check_ = std::min(next_check_, std::max(now, last_check_ + kAfterWrite));
  next_look_ = std::min(next_look_, next_check_);
}

void PodManager::Check(os::MonoTime now) {
  const os::Millis period = std::min(kCheckPeriod, options_.reconcile_period);
  last_check_ = now;
  next_check_ = now + period;
  FollowCpus(now);
  ReportPartitions();
  ReportStrays();
  if (!retold_.empty()) RepairValuesOf(std::exchange(retold_, {}));
  if (pool_dirty_ || now < next_look_) return;  // with a dirty pool all cpusets are about to be written anyway
  const os::MonoTime begin = parts_.clock.Now();
  RepairCpusets(now);
  const auto cost = std::chrono::duration_cast<os::Millis>((parts_.clock.Now() - begin) * kCheckShare);
  next_look_ = now + std::clamp(cost, period, options_.reconcile_period);
}

void PodManager::RepairCpusets(os::MonoTime now) {
  const std::map<std::string, std::string> writers = std::exchange(writers_, {});
  auto repairs = groups_.RepairCpusets(ledger_);
  if (!repairs) {
    parts_.events.Warning("FailedCgroupUpdate", "node/" + options_.node_name, repairs.error().message);
    pool_dirty_ = true;
    pool_retry_ = now + kPoolRetry;
    return;
  }
  for (const Repair& repair : *repairs) {
    const std::string who = WriterOf(writers, repair.path);
    parts_.events.Warning("CgroupRepaired", "cgroup/" + repair.path,
                          fmt::format("{}; {}put right", repair.what, who.empty() ? "" : "written by " + who + "; "));
  }
}

// ---- exclusive CPUs as partitions of the kernel's ------------------------------------------------------------------

/// A kernel that cannot is no reason to run nothing: the cpusets keep containers apart all the same.
void PodManager::UsePartitions() {
  auto why = groups_.UsePartitions(options_.cpu_partition, ledger_);
  if (why && why->empty()) return;
  parts_.events.Warning("CpuPartitionUnavailable", "node/" + options_.node_name,
                        fmt::format("cpuPartition: {}: {}; containers have their CPUs by cpusets alone, which keeps "
                                    "other pods off them but not other processes of the host",
                                    options_.cpu_partition, why ? *why : why.error().message));
}

void PodManager::ReportPartitions() {
  for (const auto& [path, why] : Untold(no_partition_, groups_.partition_problems()))
    parts_.events.Warning("CpuPartitionUnavailable", "cgroup/" + path,
                          fmt::format("the kernel makes it no partition of kind {}: {}; it has its CPUs by its "
                                      "cpuset alone",
                                      options_.cpu_partition, why));
}

void PodManager::ReportStrays() {
  for (const auto& [path, why] : Untold(has_strays_, groups_.stray_problems()))
    parts_.events.Warning("FailedCgroupUpdate", "cgroup/" + path,
                          fmt::format("processes that the kernel moved into the cpuset above cannot be moved back: {}; "
                                      "they run on all CPUs of their pod; tried again",
                                      why));
}

// ---- CPUs that come and go ---------------------------------------------------------------------------------------

/// What the shared pool of `ledger` has to be: all online CPUs that no container has for itself. As it is when none
/// would be left, under a CPU policy without a pool, and where the CPUs that are online are not known.
CpuSet PodManager::PoolOf(const Ledger& ledger) const {
  if (ledger.shared.empty() || !online_) return ledger.shared;
  // Under strict reservation the pool of an empty node has no reserved CPUs.
  CpuSet pool = (node_.pool_cpus() - ExclusiveCpus(ledger)) & *online_;
  return pool.empty() ? ledger.shared : pool;
}

void PodManager::FollowCpus(os::MonoTime now) {
  auto online = groups_.OnlineCpus();
  if (!online || !*online) return;
  if (!online_) online_ = node_.all_cpus();
  if (**online != *online_) {
    const CpuSet before = *std::exchange(online_, **online);
    if (!online_->IsSubsetOf(node_.all_cpus() | before)) TakeNewCpus();
    ReportCpus(before);
    pool_dirty_ = true;
    pool_retry_.reset();
  }
  if (PoolOf(ledger_) == ledger_.shared || (save_retry_ && now < *save_retry_)) return;
  Ledger next = ledger_;
  ++next.revision;
  if (auto saved = SaveAndTake(std::move(next)); !saved)
    LedgerNotSaved(saved.error(), "node/" + options_.node_name, now);
}

/// CPUs that did not exist when berthd started: the node is looked at again.
void PodManager::TakeNewCpus() {
  const std::string object = "node/" + options_.node_name;
  const std::string cpus = FormatIds(*online_ - node_.all_cpus());
  const auto wait = [&](const std::string& why) {
    parts_.events.Warning("RestartNeeded", object,
                          fmt::format("CPUs {} are new; they are used when berthd is restarted: {}", cpus, why));
  };
  if (!options_.look_at_node) return;
  auto node = options_.look_at_node();
  if (!node) return wait(node.error().message);
  if (!SameMemory(*node, node_)) return wait("the memory of the node has changed too");
  if (node->reserved_cpus().Intersects(ExclusiveCpus(ledger_))) return wait("CPUs to be reserved are in use");
  node_ = *std::move(node);
  if (auto set = groups_.SetNode(node_); !set) parts_.events.Warning("FailedCgroupUpdate", object, set.error().message);
  options_.machine_fingerprint = MachineFingerprint(node_.machine());
}

void PodManager::ReportCpus(const CpuSet& before) {
  const std::string object = "node/" + options_.node_name;
  const CpuSet gone = before - *online_;
  const CpuSet back = *online_ - before;
  if (!gone.empty()) parts_.events.Warning("CpusOffline", object, fmt::format("CPUs {} went offline", FormatIds(gone)));
  if (!back.empty()) parts_.events.Normal("CpusOnline", object, fmt::format("CPUs {} came online", FormatIds(back)));
  for (const auto& [uid, pod] : ledger_.pods)
    for (const Placement& placement : pod.placements) {
      if (!placement.cpus) continue;
      const std::string who = "pod/" + FullName(pod);
      const CpuSet left = *placement.cpus & *online_;
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

// ---- at every reconcilePeriod ------------------------------------------------------------------------------------

void PodManager::Reconcile(os::MonoTime now) {
  next_reconcile_ = now + options_.reconcile_period;
  if (!limit_problem_.empty()) LimitAllPods();
  RepairValues(now);
  CompareWithRuntime(now);
  EndForeign(now);
  LookForForeignGroups();
  LookForForeignContainers();
  if (!source_ready_ || !source_complete_) return;
  for (auto it = statuses_.begin(); it != statuses_.end();) {
    const std::string uid = (it++)->first;
    if (!pods_.contains(uid)) ForgetRecords(uid);
  }
  std::set<std::string> uids;
  for (const auto& [uid, managed] : pods_) uids.insert(uid);
  parts_.runtime.Retain(uids);
  RemoveUnusedGroups();
  RemoveOrphan(uids);
}

/// What a pod that is not there any more has left on disk: whoever was to remove it was killed before. One at a time,
/// because the loop waits for it.
void PodManager::RemoveOrphan(const std::set<std::string>& uids) {
  for (const NotedPod& noted : NotedPods(options_.notes)) {
    if (uids.contains(noted.uid)) continue;
    const auto removed = RemoveFolders(noted);
    sign_of_life_();
    if (removed) return;
  }
}

/// Containers that ended without a word of the runtime, or that it does not know any more.
void PodManager::CompareWithRuntime(os::MonoTime now) {
  const auto list = parts_.runtime.List();
  if (!list) {
    parts_.events.Warning("FailedRuntimeList", "node/" + options_.node_name, list.error().message);
    return;
  }
  std::map<std::string_view, const runtime::ContainerStatus*> known;
  for (const runtime::ContainerStatus& status : *list) known.emplace(status.id, &status);
  std::vector<runtime::ContainerStatus> news;
  for (const auto& [uid, containers] : statuses_)
    for (const auto& [name, ours] : containers) {
      if (ours.state != runtime::ContainerState::kRunning) continue;
      const auto found = known.find(ours.id);
      if (found != known.end() && found->second->state == runtime::ContainerState::kRunning) continue;
      runtime::ContainerStatus lost = found != known.end() ? *found->second : ours;
      if (found == known.end()) {
        lost.state = runtime::ContainerState::kUnknown;
        lost.message = "the runtime does not know it any more";
        lost.finished_at = os::FormatTime(parts_.clock.Wall());
      }
      news.push_back(std::move(lost));
    }
  for (const runtime::ContainerStatus& status : news) {
    const auto pod = pods_.find(status.pod_uid);
    parts_.events.Warning("ContainerLost", pod != pods_.end() ? ObjectOf(pod->second.pod) : "pod/" + status.pod_uid,
                          fmt::format("container {} ended unseen{}", status.container,
                                      status.message.empty() ? "" : ": " + status.message));
    Take(status, now);
  }
  if (!news.empty()) next_due_ = now;
}

/// Groups of pods in our tree that Berth did not make.
void PodManager::LookForForeignGroups() {
  const auto foreign = groups_.FindForeign();
  if (!foreign) {
    parts_.events.Warning("FailedCgroupUpdate", "node/" + options_.node_name, foreign.error().message);
    return;
  }
  std::erase_if(foreign_groups_,
                [&](const std::string& path) { return std::ranges::find(*foreign, path) == foreign->end(); });
  for (const std::string& path : *foreign) {
    if (options_.adopt_unknown) {
      if (auto taken = groups_.TakeOver(path); !taken) {
        parts_.events.Warning("FailedCgroupUpdate", "cgroup/" + path, taken.error().message);
        continue;
      }
      parts_.events.Warning("UnknownGroup", "cgroup/" + path,
                            "Berth did not make this group; its containers are kept in the shared pool from now on");
      pool_dirty_ = true;
      next_due_ = os::MonoTime();
    } else if (foreign_groups_.insert(path).second) {
      parts_.events.Warning(
          "UnknownGroup", "cgroup/" + path,
          "Berth did not make this group and leaves it alone; it may use every CPU of the group above");
    }
  }
}

/// Containers somebody else has put into the groups of our pods. A group that is there at two looks is no container of
/// ours that is just being made.
void PodManager::LookForForeignContainers() {
  const auto unknown = groups_.FindUnknownContainers(ledger_);
  if (!unknown)
    return parts_.events.Warning("FailedCgroupUpdate", "node/" + options_.node_name, unknown.error().message);
  std::map<std::string, bool> seen;
  for (const auto& [path, uid] : *unknown) {
    const auto pod = pods_.find(uid);
    const bool settled = pod != pods_.end() && pod->second.lifecycle && !pod->second.lifecycle->creating();
    const auto before = foreign_containers_.find(path);
    bool& reported = seen[path];
    reported = before != foreign_containers_.end() && before->second;
    if (reported || !settled || before == foreign_containers_.end()) continue;
    reported = true;
    parts_.events.Warning("UnknownContainer", "cgroup/" + path,
                          fmt::format("no container of {} that Berth made, though in its group; it is left alone, on "
                                      "the CPUs of that pod at most, until the pod ends",
                                      ObjectOf(pod->second.pod)));
  }
  foreign_containers_ = std::move(seen);
}

std::vector<GroupState> PodManager::InspectGroups() const {
  std::vector<const Pod*> pods;
  for (const auto& [uid, managed] : pods_)
    if (managed.claimed) pods.push_back(&managed.pod);
  return groups_.Inspect(ledger_, pods);
}

void PodManager::RepairValues(os::MonoTime now) {
  if (now < next_value_repair_) return;
  next_value_repair_ = now + kValuePeriod;
  RepairValuesOf({});
}

/// Of all groups when none are named.
void PodManager::RepairValuesOf(const std::set<std::string>& only) {
  std::vector<const Pod*> pods;
  for (const auto& [uid, managed] : pods_)
    if (managed.claimed && !managed.ending) pods.push_back(&managed.pod);
  auto repairs = groups_.RepairValues(ledger_, pods, only);
  if (!repairs) {
    parts_.events.Warning("FailedCgroupUpdate", "node/" + options_.node_name, repairs.error().message);
    return;
  }
  for (const Repair& repair : *repairs)
    parts_.events.Warning("CgroupRepaired", "cgroup/" + repair.path, repair.what + "; put right");
}

void PodManager::LimitAllPods() {
  const std::string object = "node/" + options_.node_name;
  std::string problem = groups_.LimitAllPods();
  if (!problem.empty() && limit_problem_.empty())
    parts_.events.Warning("FailedNodeAllocatableEnforcement", object, problem);
  if (problem.empty() && !limit_problem_.empty())
    parts_.events.Normal("NodeAllocatableEnforced", object, "the memory limit of all pods is in force");
  limit_problem_ = std::move(problem);
}

/// Groups of pods that nothing knows any more: left by a berthd that died, or by pods whose end was not seen.
void PodManager::RemoveUnusedGroups() {
  const std::map<std::string, std::string> groups = groups_.pods();
  std::erase_if(reported_groups_, [&](const std::string& path) {
    return std::ranges::none_of(groups, [&](const auto& group) { return group.second == path; });
  });
  for (const auto& [uid, path] : groups) {
    if (pods_.contains(uid) || reported_groups_.contains(path)) continue;
    Pod pod;
    pod.uid = uid;
    const auto removed = groups_.RemovePod(pod);
    if (removed && *removed) continue;
    reported_groups_.insert(path);
    parts_.events.Warning(
        "UnknownGroup", "cgroup/" + path,
        removed ? "processes run here that Berth did not start; they are left alone" : removed.error().message);
  }
}

}  // namespace berth::daemon
