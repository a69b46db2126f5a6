// PodManager: containers, from their start to the removal of their groups.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <system_error>
#include <utility>

#include "cgroup/oom_score.h"
#include "daemon/pod_manager.h"
#include "daemon/pod_volumes.h"
#include "os/remove_tree.h"

namespace berth::daemon {
namespace {

constexpr os::Millis kLookAgain{200};  // after a kill; doubled each time
constexpr os::Millis kLongestLook{10'000};
constexpr os::Millis kNoticeable{1'000};  // what dies more slowly than that is reported
constexpr os::Millis kBriefly{100};       // the loop may wait that long for the death of leftovers

struct Found {
  const Container* container = nullptr;
  ContainerKind kind = ContainerKind::kApp;
};

Found FindContainer(const Pod& pod, std::string_view name) {
  Found out;
  ForEachContainer(pod, [&](const Container& container, ContainerKind kind) {
    if (container.name == name) out = {&container, kind};
  });
  return out;
}

bool HasExclusiveCpus(const Ledger& ledger, const std::string& uid, std::string_view container) {
  const auto record = ledger.pods.find(uid);
  if (record == ledger.pods.end()) return false;
  const Placement* placement = FindPlacement(record->second, container);
  return placement != nullptr && placement->cpus.has_value();
}

}  // namespace

std::string PodManager::LogFolder(const Pod& pod) const {
  return fmt::format("{}/{}_{}_{}", options_.log_dir, pod.namespace_, pod.name, pod.uid);
}

void PodManager::RecoverStatuses(ManagedPod& managed, os::MonoTime now) {
  const auto it = statuses_.find(managed.pod.uid);
  if (it == statuses_.end() || !managed.lifecycle) return;
  for (const auto& [name, status] : it->second) managed.lifecycle->Recover(status, now, parts_.clock.Wall());
}

void PodManager::OnRuntime(os::MonoTime now) {
  for (const runtime::ContainerStatus& status : parts_.runtime.Poll()) Take(status, now);
  for (const runtime::Notice& notice : parts_.runtime.TakeNotices()) {
    const auto pod = pods_.find(notice.pod_uid);
    const std::string object = pod != pods_.end() ? ObjectOf(pod->second.pod) : "node/" + options_.node_name;
    if (notice.normal) {
      parts_.events.Normal(notice.reason, object, notice.message);
    } else {
      parts_.events.Warning(notice.reason, object, notice.message);
    }
  }
  if (parts_.runtime.makes_groups()) {
    for (const auto& [id, uid] : parts_.runtime.Sandboxes()) {
      if (!groups_.KnowId(uid, "", id)) continue;
      if (auto found = groups_.FindRuntimeGroups(uid, ledger_); !found)
        parts_.events.Warning("FailedCgroupUpdate", "pod/" + uid, found.error().message);
    }
    CheckSoon(now);  // it may have written to groups: the kernel has the last word
  }
  Sync(now);
}

void PodManager::Take(const runtime::ContainerStatus& status, os::MonoTime now) {
  const auto pod = pods_.find(status.pod_uid);
  const bool driven = pod != pods_.end() && pod->second.lifecycle;
  if (status.state == runtime::ContainerState::kCreating) {
    if (driven) pod->second.lifecycle->Observe(status, now);
    return;
  }
  if (status.state == runtime::ContainerState::kNotStarted) {
    if (driven) StartCameToNothing(pod->second, status, now);
    return;
  }
  if (driven) TakeStart(pod->second, status);
  std::vector<std::string>& ids = record_ids_[status.pod_uid];
  if (std::ranges::find(ids, status.id) == ids.end()) ids.push_back(status.id);
  auto [it, added] = statuses_[status.pod_uid].try_emplace(status.container, status);
  if (!added && it->second.attempt <= status.attempt) it->second = status;
  if (!driven) return;
  pod->second.lifecycle->Observe(status, now);
  for (const std::string& warning : status.warnings)
    parts_.events.Warning("ContainerWarning", ObjectOf(pod->second.pod),
                          fmt::format("container {}: {}", status.container, warning));
  if (status.state != runtime::ContainerState::kRunning) ReportEnd(pod->second, status);
}

/// The first word of a new attempt.
void PodManager::TakeStart(ManagedPod& managed, const runtime::ContainerStatus& status) {
  const std::string object = ObjectOf(managed.pod);
  const Statuses& statuses = statuses_[managed.pod.uid];
  const auto earlier = statuses.find(status.container);
  if (earlier != statuses.end() && (earlier->second.id == status.id || earlier->second.attempt > status.attempt))
    return;
  if (status.state == runtime::ContainerState::kRunning)
    parts_.events.Normal("Started", object, fmt::format("started container {}", status.container));
  groups_.KnowId(managed.pod.uid, status.container, status.id);
  if (parts_.runtime.makes_groups()) {
    auto done = groups_.FindRuntimeGroups(managed.pod.uid, ledger_);
    if (const Found found = FindContainer(managed.pod, status.container); done && found.container != nullptr)
      done = groups_.FinishRuntimeGroup(managed.pod, *found.container, status.id, ledger_);
    if (!done) parts_.events.Warning("FailedCgroupUpdate", object, done.error().message);
  }
  if (earlier != statuses.end()) {
    // One ended attempt is kept in the logs, none in the records.
    if (auto forgotten = parts_.runtime.Forget(earlier->second.id); !forgotten)
      parts_.events.Warning("ContainerWarning", object, forgotten.error().message);
    std::erase(record_ids_[managed.pod.uid], earlier->second.id);
  }
  RemoveOldLogs(fmt::format("{}/{}", LogFolder(managed.pod), status.container), status.attempt - 2);
}

void PodManager::StartCameToNothing(ManagedPod& managed, const runtime::ContainerStatus& status, os::MonoTime now) {
  const Error error{.code = Code::kIo, .message = status.message};
  managed.lifecycle->StartFailed(status.container, error, now, status.reason);
  parts_.events.Warning(status.reason, ObjectOf(managed.pod),
                        fmt::format("container {}: {}", status.container, status.message));
}

void PodManager::ReportEnd(const ManagedPod& managed, const runtime::ContainerStatus& status) {
  const std::string object = ObjectOf(managed.pod);
  if (!status.message.empty() && status.exit_code == runtime::kStartErrorExitCode) {
    parts_.events.Warning("Failed", object, fmt::format("container {}: {}", status.container, status.message));
  } else if (status.exit_code == 0 || managed.ending) {
    parts_.events.Normal("Completed", object,
                         fmt::format("container {} ended with exit code {}", status.container,
                                     status.exit_code ? std::to_string(*status.exit_code) : "unknown"));
  } else {
    parts_.events.Warning(status.oom_killed ? "OOMKilled" : "ContainerDied", object,
                          fmt::format("container {} ended with exit code {}", status.container,
                                      status.exit_code ? std::to_string(*status.exit_code) : "unknown"));
  }
  for (const runtime::ContainerView& view : managed.lifecycle->containers())
    if (view.name == status.container && view.reason == "CrashLoopBackOff")
      parts_.events.Warning("BackOff", object, fmt::format("container {}: {}", view.name, view.message));
}

void PodManager::Drive(ManagedPod& managed, os::MonoTime now) {
  // What no manifest stands behind is only watched, until it has to go.
  if (!managed.lifecycle || managed.stage == ManagedPod::Stage::kDone) return;
  if (!managed.claimed && !managed.ending) return;
  if (managed.stage == ManagedPod::Stage::kWaiting && !managed.ending) return;
  constexpr int kMaxSteps = 100;  // containers that end at once lead to new steps
  for (int step = 0; step < kMaxSteps; ++step) {
    const runtime::Steps steps = managed.lifecycle->Next(now);
    if (steps.wake_at) WakeAt(*steps.wake_at);
    bool worked = false;
    for (const runtime::Action& action : steps.actions) {
      const bool postponed = action.kind == runtime::Action::Kind::kStart && pool_dirty_ &&
                             HasExclusiveCpus(ledger_, managed.pod.uid, action.container);
      if (postponed) continue;  // the kernel may still let others onto these CPUs
      Perform(managed, action, now);
      worked = true;
    }
    if (!worked) return;
  }
}

void PodManager::Perform(ManagedPod& managed, const runtime::Action& action, os::MonoTime now) {
  const std::string object = ObjectOf(managed.pod);
  switch (action.kind) {
    case runtime::Action::Kind::kStart: StartContainer(managed, action, now); return;
    case runtime::Action::Kind::kTerm: StopContainer(managed, action, now); return;
    case runtime::Action::Kind::kKill:
      if (auto killed = groups_.KillContainer(managed.pod, action.container, os::Millis(0));
          !killed && killed.error().code != Code::kBusy)  // dying; looked at again before anything else
        parts_.events.Warning("FailedKillPod", object, killed.error().message);
      return;
  }
}

void PodManager::StopContainer(ManagedPod& managed, const runtime::Action& action, os::MonoTime now) {
  const std::string object = ObjectOf(managed.pod);
  parts_.events.Normal("Killing", object, "stopping container " + action.container);
  runtime::StopRequest request{.id = action.id, .grace = managed.lifecycle->GraceLeft(now), .pre_stop_exec = {}};
  if (const Found found = FindContainer(managed.pod, action.container); found.container != nullptr) {
    request.pre_stop_exec = found.container->pre_stop_exec;
    request.pre_stop_sleep =
        std::chrono::seconds(std::clamp<std::int64_t>(found.container->pre_stop_sleep_s, 0, runtime::kLongestGraceS));
  }
  if (auto sent = parts_.runtime.Stop(request); !sent)
    parts_.events.Warning("FailedKillPod", object, sent.error().message);
}

/// The ordinary init containers before this one are over: their memory is free from here on.
void PodManager::TakeBackInitMemory(const Pod& pod, const std::string& container, os::MonoTime now) {
  if (save_retry_ && now < *save_retry_) return;  // kept a little longer
  const LedgerDelta delta = engine::ContainerStarted(node_, ledger_, pod.uid, container, nullptr);
  if (!delta.put) return;
  Ledger next = ledger_;
  Apply(next, delta);
  if (auto saved = SaveAndTake(std::move(next)); !saved) LedgerNotSaved(saved.error(), ObjectOf(pod), now);
}

void PodManager::StartContainer(ManagedPod& managed, const runtime::Action& action, os::MonoTime now) {
  const auto [container, kind] = FindContainer(managed.pod, action.container);
  if (container == nullptr) return;
  const std::string object = ObjectOf(managed.pod);
  TakeBackInitMemory(managed.pod, action.container, now);
  auto status = TryStart(managed, *container, kind, action.attempt);
  if (!status) {
    managed.lifecycle->StartFailed(action.container, status.error(), now);
    parts_.events.Warning("FailedCreatePodContainer", object,
                          fmt::format("container {}: {}", action.container, status.error().message));
    return;
  }
  Take(*status, now);
}

/// The logs of an attempt and its rotated parts; those of the newest two attempts are kept.
void PodManager::RemoveOldLogs(const std::string& folder, int attempt) const {
  if (attempt < 0) return;
  std::error_code error;  // a log that cannot be removed only takes room
  std::filesystem::remove(fmt::format("{}/{}.log", folder, attempt), error);
  for (int part = 1; part <= options_.log_max_files; ++part)
    std::filesystem::remove(fmt::format("{}/{}.log.{}", folder, attempt, part), error);
}

Result<runtime::ContainerStatus> PodManager::TryStart(const ManagedPod& managed, const Container& container,
                                                      ContainerKind kind, int attempt) {
  const Pod& pod = managed.pod;
  BERTH_TRY(runtime::Environment env, runtime::ResolveEnv(pod, container, {.node_name = options_.node_name}));
  if (!options_.notes.empty())
    BERTH_RETURN_IF_ERROR(NotePod(options_.notes, {.uid = pod.uid, .log_folder = LogFolder(pod)}));
  runtime::StartRequest request;
  request.pod_uid = pod.uid;
  request.pod_namespace = pod.namespace_;
  request.pod_name = pod.name;
  BERTH_TRY(request.container, runtime::ExpandCommand(container, env));
  request.env = std::move(env);
  request.attempt = attempt;
  request.grace = std::chrono::seconds(std::clamp<std::int64_t>(pod.termination_grace_s, 0, runtime::kLongestGraceS));
  request.oom_score_adj = cgroup::OomScoreAdj(pod, container, node_.machine().memory);
  request.log_path = fmt::format("{}/{}/{}.log", LogFolder(pod), container.name, attempt);
  request.log_max_bytes = options_.log_max_bytes;
  request.log_max_files = options_.log_max_files;
  request.kind = kind;
  if (parts_.runtime.makes_groups()) {
    BERTH_RETURN_IF_ERROR(FillPlace(pod, container, request));
    return parts_.runtime.Start(request);
  }
  // What an earlier attempt left behind, or somebody put there, does not go on beside the new one.
  BERTH_RETURN_IF_ERROR(groups_.KillContainer(pod, container.name, kBriefly));
  BERTH_TRY(request.cgroup, groups_.MakeContainer(pod, container, ledger_));
  auto started = parts_.runtime.Start(request);
  groups_.LetGo(pod, container.name);
  return started;
}

/// What a runtime that makes groups has to know.
Result<void> PodManager::FillPlace(const Pod& pod, const Container& container, runtime::StartRequest& request) {
  runtime::Place& place = request.place;
  BERTH_TRY(place.mounts, MountsOf(pod, container, options_.volumes));
  BERTH_TRY(place.pod_group, groups_.MakePod(pod, ledger_));
  BERTH_TRY(place.values, groups_.ValuesNow(pod, container, ledger_));
  place.v2 = parts_.tree.layout().version == cgroup::Version::kV2;
  place.hostname = pod.hostname.empty() ? pod.name : pod.hostname;
  place.log_folder = LogFolder(pod);
  place.host_network = pod.host_network;
  request.container.security = WithPodDefaults(container.security, pod.security);
  ForEachContainer(pod, [&](const Container& other, ContainerKind) {
    place.privileged_pod = place.privileged_pod || other.security.privileged.value_or(false);
  });
  return {};
}

void PodManager::ForgetRecords(const std::string& uid) {
  if (const auto ids = record_ids_.find(uid); ids != record_ids_.end()) {
    for (const std::string& id : ids->second)
      if (auto forgotten = parts_.runtime.Forget(id); !forgotten)
        parts_.events.Warning("ContainerWarning", "node/" + options_.node_name, forgotten.error().message);
    record_ids_.erase(ids);
  }
  parts_.runtime.ForgetPod(uid);
  statuses_.erase(uid);
}

bool PodManager::RunsSomething(const std::string& uid) const {
  const auto it = statuses_.find(uid);
  return it != statuses_.end() && std::ranges::any_of(it->second, [](const auto& c) {
           return c.second.state == runtime::ContainerState::kRunning;
         });
}

/// Kills what is left in the pod's groups and removes them; false: has to be tried again at retry_at.
bool PodManager::RemoveGroups(ManagedPod& managed) {
  const auto stopped = parts_.runtime.StopPod(managed.pod.uid);
  if (stopped && !*stopped) {  // the runtime tells when it is done; asked again in any case
    managed.retry_at = parts_.clock.Now() + kLookAgain;
    WakeAt(*managed.retry_at);
    return false;
  }
  auto removed = groups_.RemovePod(managed.pod);
  std::string left;
  if (removed && !*removed) {  // something was left, or is dying: a kill that was sent takes a moment
    if (auto killed = groups_.KillPod(managed.pod); !killed) left = killed.error().message;
    removed = groups_.RemovePod(managed.pod);
  }
  if (removed && *removed) return true;
  if (!removed || managed.retry_delay >= kNoticeable)
    parts_.events.Warning("FailedKillPod", ObjectOf(managed.pod), removed ? left : removed.error().message);
  managed.retry_delay = std::clamp(managed.retry_delay * 2, kLookAgain, kLongestLook);
  managed.retry_at = parts_.clock.Now() + managed.retry_delay;  // what went before may have taken long
  WakeAt(*managed.retry_at);
  return false;
}

/// Gives back what a pod held once nothing of it runs. True when nothing is left to know about it.
bool PodManager::Finish(ManagedPod& managed, os::MonoTime now) {
  if (managed.lifecycle && managed.stage != ManagedPod::Stage::kDone) {
    if (!managed.lifecycle->finished()) return false;
    if (managed.retry_at && now < *managed.retry_at) {
      WakeAt(*managed.retry_at);
      return false;
    }
    if (!RemoveGroups(managed)) return false;
    if (!ReleasePlace(managed, now)) return false;
    if (managed.stage == ManagedPod::Stage::kRejected) {
      managed.lifecycle.reset();
    } else {
      managed.stage = ManagedPod::Stage::kDone;
    }
  }
  if (!managed.ending) return false;
  ForgetRecords(managed.pod.uid);
  if (auto removed = RemoveFolders({.uid = managed.pod.uid, .log_folder = LogFolder(managed.pod)}); !removed)
    parts_.events.Warning("FailedRemovePodFolders", ObjectOf(managed.pod), removed.error().message);
  return true;
}

/// Logs and volumes; the note of what could not be removed stays.
Result<void> PodManager::RemoveFolders(const NotedPod& pod) {
  auto logs = os::RemoveTree(pod.log_folder);
  BERTH_RETURN_IF_ERROR(RemoveVolumes(pod.uid, options_.volumes));
  if (logs && !options_.notes.empty()) ForgetNote(options_.notes, pod.uid);
  return logs;
}

}  // namespace berth::daemon
