#include "daemon/pod_manager.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/adopt.h"

namespace berth::daemon {
namespace {

/// More rounds than a chain of steps without waiting can have (admit, start, end at once, release, next pod).
constexpr int kMaxRounds = 1000;
constexpr std::chrono::hours kLongAway{24};

}  // namespace

Pod PodFromRecord(const PodRecord& record) {
  Pod pod;
  pod.uid = record.uid;
  pod.namespace_ = record.namespace_;
  pod.name = record.name;
  pod.status_qos = record.qos;
  pod.restart_policy = RestartPolicy::kNever;
  for (const Placement& placement : record.placements) {
    Container container;
    container.name = placement.container;
    container.restartable_init = placement.kind == ContainerKind::kSidecar;
    (placement.kind == ContainerKind::kApp ? pod.containers : pod.init_containers).push_back(std::move(container));
  }
  return pod;
}

bool RecordFits(const PodRecord& record, const Pod& pod) {
  if (record.namespace_ != pod.namespace_ || record.name != pod.name || record.qos != QosOf(pod)) return false;
  std::vector<std::pair<std::string, ContainerKind>> have;
  std::vector<std::pair<std::string, ContainerKind>> want;
  for (const Placement& placement : record.placements) have.emplace_back(placement.container, placement.kind);
  ForEachContainer(pod,
                   [&](const Container& container, ContainerKind kind) { want.emplace_back(container.name, kind); });
  return have == want && record.requests == PodRequests(pod);
}

PodManager::PodManager(const ManagerParts& parts, const engine::Node& node, ManagerOptions options)
    : parts_(parts), node_(node), options_(std::move(options)), groups_(parts.tree, node, options_.cgroup_names) {}

std::string PodManager::ObjectOf(const Pod& pod) { return "pod/" + FullName(pod); }

void PodManager::WakeAt(os::MonoTime when) { next_due_ = std::min(next_due_, when); }

// ---- start -------------------------------------------------------------------------------------------------------

Result<void> PodManager::Start(const std::optional<state::Saved>& saved, os::MonoTime now) {
  auto statuses = parts_.runtime.List();
  if (!statuses) return Wrap(std::move(statuses).error(), "look for containers that run");
  TakeLedger(saved, *statuses);
  std::set<std::string> known;
  if (parts_.runtime.makes_groups()) groups_.set_runtime_makes_groups();
  for (const runtime::ContainerStatus& status : *statuses) {
    known.insert(status.pod_uid);
    groups_.KnowId(status.pod_uid, status.container, status.id);
  }
  for (const auto& [id, uid] : parts_.runtime.Sandboxes()) groups_.KnowId(uid, "", id);
  if (auto prepared = groups_.Prepare(ledger_, known); !prepared)
    return Wrap(std::move(prepared).error(), "prepare Berth's cgroups");
  UsePartitions();
  FollowCpus(now);
  LookForForeignGroups();
  LimitAllPods();
  BERTH_TRY(Eviction eviction, Eviction::Make(node_.config(), groups_));
  eviction_.emplace(std::move(eviction));
  TakeRunning(*std::move(statuses), now);
  next_reconcile_ = now + options_.reconcile_period;
  next_check_ = now;
  ApplyPool(now);
  ComputeNextDue(now);
  return {};
}

ManagedPod& PodManager::AddUnclaimed(Pod pod) {
  ManagedPod managed;
  managed.lifecycle.emplace(pod);
  managed.stage = ManagedPod::Stage::kAdmitted;
  const std::string uid = pod.uid;
  managed.pod = std::move(pod);
  return pods_.insert_or_assign(uid, std::move(managed)).first->second;
}

void PodManager::TakeRunning(std::vector<runtime::ContainerStatus> statuses, os::MonoTime now) {
  for (runtime::ContainerStatus& status : statuses) {
    record_ids_[status.pod_uid].push_back(status.id);
    auto [it, added] = statuses_[status.pod_uid].try_emplace(status.container, status);
    if (!added && it->second.attempt < status.attempt) it->second = std::move(status);
  }
  for (const auto& [uid, record] : ledger_.pods) AddRecorded(record, now);
  for (const auto& [uid, containers] : statuses_) {
    const bool running = std::ranges::any_of(
        containers, [](const auto& c) { return c.second.state == runtime::ContainerState::kRunning; });
    if (!running || pods_.contains(uid)) continue;
    Pod pod;  // runs although the ledger does not know it: taken in by its manifest, or ended
    pod.uid = uid;
    pod.name = uid;
    pod.namespace_ = "unknown";
    for (const auto& [name, status] : containers) pod.containers.emplace_back().name = name;
    RecoverStatuses(AddUnclaimed(std::move(pod)), now);
  }
}

// ---- what is wanted ----------------------------------------------------------------------------------------------

void PodManager::OnSnapshot(source::Snapshot snapshot, os::MonoTime now) {
  ReportProblems(snapshot);
  if (snapshot.ready) {
    source_ready_ = true;
    source_complete_ = snapshot.complete;
    wanted_.clear();
    for (Pod& pod : snapshot.pods) {
      std::string name = FullName(pod);
      wanted_.insert_or_assign(std::move(name), std::move(pod));
    }
    files_ = std::move(snapshot.files);
  }
  Sync(now);
}

void PodManager::ReportProblems(const source::Snapshot& snapshot) {
  const auto report = [&](const std::vector<source::SourceProblem>& list, ReportedProblems& known, const char* reason) {
    ReportedProblems current;
    for (const source::SourceProblem& problem : list) {
      if (!known.contains({problem.file, problem.message}))
        parts_.events.Warning(reason, problem.source + "/" + problem.file, problem.message);
      current.emplace(problem.file, problem.message);
    }
    known = std::move(current);
  };
  report(snapshot.problems, problems_, "FailedValidation");
  report(snapshot.warnings, manifest_warnings_, "ManifestWarning");
}

void PodManager::Claim(ManagedPod& managed, const Pod& pod, os::MonoTime now) {
  managed.pod = pod;
  managed.claimed = true;
  if (!ledger_.pods.contains(pod.uid)) {
    managed.stage = ManagedPod::Stage::kWaiting;  // it runs, but its place has to be decided again
  } else {
    managed.admitted_at = os::FormatTime(parts_.clock.Wall());
  }
  managed.lifecycle.emplace(pod, runtime::BackoffOptions{.max = node_.config().max_container_restart_period});
  RecoverStatuses(managed, now);
}

void PodManager::MatchWithManifests(os::MonoTime now) {
  for (auto& [uid, managed] : pods_) {
    if (managed.ending || managed.stage == ManagedPod::Stage::kForeign) continue;
    // What neither ledger nor manifest names has only its uid for a name.
    const auto by_name = wanted_.find(FullName(managed.pod));
    const auto wanted = managed.claimed || by_name != wanted_.end()
                            ? by_name
                            : std::ranges::find_if(wanted_, [&](const auto& w) { return w.second.uid == uid; });
    const bool same_uid = !stopping_ && wanted != wanted_.end() && wanted->second.uid == uid;
    const auto record = ledger_.pods.find(uid);
    if (!same_uid) {
      if (managed.claimed || source_complete_ || stopping_) End(managed, now);
    } else if (managed.claimed) {
      if (managed.pod != wanted->second) End(managed, now);
    } else if (record != ledger_.pods.end() && record->second.partial) {
      CompleteAndClaim(managed, wanted->second, now);
    } else if (record == ledger_.pods.end() || RecordFits(record->second, wanted->second)) {
      Claim(managed, wanted->second, now);
    } else {
      End(managed, now);
    }
    if (const auto file = files_.find(FullName(managed.pod)); file != files_.end()) managed.file = file->second;
  }
}

void PodManager::End(ManagedPod& managed, os::MonoTime now) {
  managed.ending = true;
  managed.retry_at.reset();
  managed.retry_delay = os::Millis(0);
  if (managed.lifecycle) managed.lifecycle->Terminate(now);
}

void PodManager::StopAll(os::MonoTime now) {
  stopping_ = true;
  Sync(now);
}

bool PodManager::idle() const {
  return std::ranges::all_of(pods_, [](const auto& entry) {
    return entry.second.stage == ManagedPod::Stage::kDone ||
           (entry.second.stage != ManagedPod::Stage::kAdmitted && !entry.second.lifecycle);
  });
}

// ---- doing what is due -------------------------------------------------------------------------------------------

void PodManager::Sync(os::MonoTime now) {
  ++turns_;
  if (now >= next_check_) Check(now);
  next_due_ = now + kLongAway;
  CheckPressure(now);  // before anything is admitted
  const auto progress_key = [&] { return std::pair(ledger_.revision, pods_.size()); };
  for (int round = 0; round < kMaxRounds; ++round) {
    const auto before = progress_key();
    next_due_ = now + kLongAway;
    if (source_ready_ || stopping_) MatchWithManifests(now);
    ApplyPool(now);
    for (auto& [uid, managed] : pods_) {
      Drive(managed, now);
      sign_of_life_();
    }
    for (auto it = pods_.begin(); it != pods_.end();) {
      it = Finish(it->second, now) ? pods_.erase(it) : std::next(it);
      sign_of_life_();
    }
    if (source_ready_ && !stopping_) AdmitNew(now);
    if (progress_key() == before && !pool_dirty_) break;
    if (progress_key() == before && pool_retry_) break;
  }
  if (now >= next_reconcile_) Reconcile(now);
  ComputeNextDue(now);
}

void PodManager::AdmitNew(os::MonoTime now) {
  std::vector<const Pod*> order;
  for (const auto& [name, pod] : wanted_) order.push_back(&pod);
  std::ranges::sort(order, {}, [](const Pod* pod) { return std::pair(pod->creation_timestamp, FullName(*pod)); });
  for (const Pod* pod : order) {
    auto it = pods_.find(pod->uid);
    if (it == pods_.end()) {
      // A new version of a pod waits until the old one is gone.
      const bool old_version =
          std::ranges::any_of(pods_, [&](const auto& entry) { return FullName(entry.second.pod) == FullName(*pod); });
      if (old_version) continue;
      ManagedPod managed;
      managed.pod = *pod;
      managed.claimed = true;
      if (const auto file = files_.find(FullName(*pod)); file != files_.end()) managed.file = file->second;
      it = pods_.emplace(pod->uid, std::move(managed)).first;
    }
    ManagedPod& managed = it->second;
    if (managed.stage == ManagedPod::Stage::kWaiting && !managed.ending) Admit(managed, now);
    sign_of_life_();
  }
}

void PodManager::ComputeNextDue(os::MonoTime now) {
  WakeAt(std::max(now, std::min(next_reconcile_, next_eviction_)));
  if (pool_dirty_) WakeAt(pool_retry_.value_or(now));
}

NodeConditions PodManager::Conditions() const {
  NodeConditions out{.memory_pressure = eviction_ && eviction_->memory_pressure(),
                     .pid_pressure = eviction_ && eviction_->pid_pressure(),
                     .ledger_problem = save_problem_,
                     .pool_problem = pool_problem_,
                     .releasing = {}};
  for (const auto& [uid, managed] : pods_)
    if (managed.ending && ledger_.pods.contains(uid)) out.releasing.push_back(FullName(managed.pod));
  return out;
}

std::vector<std::string> PodManager::Warnings() const {
  std::vector<std::string> out;
  if (!save_problem_.empty()) out.push_back(save_problem_);
  if (!pool_problem_.empty()) out.push_back(pool_problem_);
  if (!limit_problem_.empty()) out.push_back(limit_problem_);
  for (const auto& [file, message] : problems_) out.push_back(message);
  return out;
}

}  // namespace berth::daemon
