#include "frontend/static_pods/runtime_events.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

#include "frontend/static_pods/container_starter.h"

namespace berth::pods {

void RuntimeEvents::Poll() {
  std::ranges::move(node_.runtime().TakeNotices(), std::back_inserter(notices_));  // first: they are about older news
  std::ranges::move(node_.runtime().Poll(), std::back_inserter(news_));
  polled_ = true;
}

bool RuntimeEvents::Work(os::MonoTime now, const os::Slice& slice) {
  if (!polled_) return true;
  while (!news_.empty()) {
    const runtime::ContainerStatus status = std::move(news_.front());
    news_.pop_front();
    Take(status, now);
    if (slice.over()) return false;
  }
  TakeNotices();
  TakeSandboxes();
  polled_ = false;
  return true;
}

void RuntimeEvents::TakeNotices() {
  for (const runtime::Notice& notice : std::exchange(notices_, {})) {
    const auto pod = node_.pods().find(notice.pod_uid);
    const std::string object = pod != node_.pods().end() ? ObjectOf(pod->second.pod) : node_.ObjectOfNode();
    const bool driven = pod != node_.pods().end() && pod->second.lifecycle;
    if (notice.sandbox_ended && driven) pod->second.lifecycle->ForgiveEnds(node_.clock().Now());
    if (notice.try_again && driven) pod->second.lifecycle->RetryNow();
    if (notice.message.empty()) continue;
    if (notice.normal) {
      node_.events().Normal(notice.reason, object, notice.message);
    } else {
      node_.events().Warning(notice.reason, object, notice.message);
    }
  }
}

void RuntimeEvents::TakeSandboxes() {
  for (const auto& [id, uid] : node_.runtime().Sandboxes()) {
    if (!node_.groups().table().KnowId(uid, "", id)) continue;
    if (auto found = node_.groups().runtime_groups().Find(uid, node_.allocations().ledger()); !found)
      node_.events().Warning("FailedCgroupUpdate", "pod/" + uid, found.error().message);
  }
}

void RuntimeEvents::Take(const runtime::ContainerStatus& status, os::MonoTime now) {
  const auto pod = node_.pods().find(status.pod_uid);
  const bool driven = pod != node_.pods().end() && pod->second.lifecycle;
  if (status.state == runtime::ContainerState::kCreating) {
    if (driven) pod->second.lifecycle->Observe(status, now);
    return;
  }
  if (driven)  // its process is in its group, or never comes
    node_.groups().pod_groups().LetGo(pod->second.pod, status.container);
  if (status.state == runtime::ContainerState::kNotStarted) {
    if (driven) StartCameToNothing(pod->second, status, now);
    return;
  }
  const std::optional<runtime::ContainerStatus> before = node_.statuses().Take(status);
  if (!driven) return;
  if (!before || (before->id != status.id && before->attempt <= status.attempt)) TakeStart(pod->second, status, before);
  pod->second.lifecycle->Observe(status, now);
  for (const std::string& warning : status.warnings)
    node_.events().Warning("ContainerWarning", ObjectOf(pod->second.pod),
                           fmt::format("container {}: {}", status.container, warning));
  if (status.state != runtime::ContainerState::kRunning) ReportEnd(pod->second, status);
}

/// The first word of a new attempt.
void RuntimeEvents::TakeStart(ManagedPod& managed, const runtime::ContainerStatus& status,
                              const std::optional<runtime::ContainerStatus>& earlier) {
  const std::string object = ObjectOf(managed.pod);
  if (status.state == runtime::ContainerState::kRunning)
    node_.events().Normal("Started", object, fmt::format("started container {}", status.container));
  node_.groups().table().KnowId(managed.pod.uid, status.container, status.id);
  if (auto taken = node_.groups().ownership().TakeStarted(node_.groups().runtime_groups(), managed.pod,
                                                          FindContainer(managed.pod, status.container).container,
                                                          status.id, node_.allocations().ledger());
      !taken)
    node_.events().Warning("FailedCgroupUpdate", object, taken.error().message);
  if (earlier)  // one ended attempt is kept in the logs, none in the records
    if (auto forgotten = node_.statuses().Forget(*earlier); !forgotten)
      node_.events().Warning("ContainerWarning", object, forgotten.error().message);
  RemoveOldLogs(fmt::format("{}/{}", context_.LogFolder(managed.pod), status.container), status.attempt - 2);
}

void RuntimeEvents::StartCameToNothing(ManagedPod& managed, const runtime::ContainerStatus& status, os::MonoTime now) {
  const Error error{.code = Code::kIo, .message = status.message};
  managed.lifecycle->StartFailed(status.container, error, now, status.reason);
  node_.events().Warning(status.reason, ObjectOf(managed.pod),
                         fmt::format("container {}: {}", status.container, status.message));
}

void RuntimeEvents::ReportEnd(const ManagedPod& managed, const runtime::ContainerStatus& status) {
  const std::string object = ObjectOf(managed.pod);
  if (managed.Is<Foreign>()) {  // what its end means is known to who started it
    node_.events().Normal("Ended", object, fmt::format("container {} has ended", status.container));
  } else if (!status.message.empty() && status.exit_code == runtime::kStartErrorExitCode) {
    node_.events().Warning("Failed", object, fmt::format("container {}: {}", status.container, status.message));
  } else if (status.exit_code == 0 || managed.Is<Ending>()) {
    node_.events().Normal("Completed", object,
                          fmt::format("container {} ended with exit code {}", status.container,
                                      status.exit_code ? std::to_string(*status.exit_code) : "unknown"));
  } else {
    node_.events().Warning(status.oom_killed ? "OOMKilled" : "ContainerDied", object,
                           fmt::format("container {} ended with exit code {}", status.container,
                                       status.exit_code ? std::to_string(*status.exit_code) : "unknown"));
  }
  for (const runtime::ContainerView& view : managed.lifecycle->containers())
    if (view.name == status.container && view.reason == "CrashLoopBackOff")
      node_.events().Warning("BackOff", object, fmt::format("container {}: {}", view.name, view.message));
}

/// The logs of an attempt and its rotated parts; those of the newest two attempts are kept.
void RuntimeEvents::RemoveOldLogs(const std::string& folder, int attempt) const {
  if (attempt < 0) return;
  std::error_code error;  // a log that cannot be removed only takes room
  std::filesystem::remove(fmt::format("{}/{}.log", folder, attempt), error);
  for (int part = 1; part <= context_.options().log_max_files; ++part)
    std::filesystem::remove(fmt::format("{}/{}.log.{}", folder, attempt, part), error);
}

/// Containers that ended without a word of the runtime, or that it does not know any more.
void RuntimeEvents::CompareWithRuntime(os::MonoTime now) {
  const auto list = node_.runtime().List();
  if (!list) {
    node_.events().Warning("FailedRuntimeList", node_.ObjectOfNode(), list.error().message);
    return;
  }
  std::map<std::string_view, const runtime::ContainerStatus*> known;
  for (const runtime::ContainerStatus& status : *list) known.emplace(status.id, &status);
  std::vector<runtime::ContainerStatus> news;
  for (const auto& [uid, containers] : node_.statuses().all())
    for (const auto& [name, ours] : containers) {
      if (ours.state != runtime::ContainerState::kRunning) continue;
      const auto found = known.find(ours.id);
      if (found != known.end() && found->second->state == runtime::ContainerState::kRunning) continue;
      runtime::ContainerStatus lost = found != known.end() ? *found->second : ours;
      if (found == known.end()) {
        lost.state = runtime::ContainerState::kUnknown;
        lost.message = "the runtime does not know it any more";
        lost.finished_at = os::FormatTime(node_.clock().Wall());
      }
      news.push_back(std::move(lost));
    }
  for (const runtime::ContainerStatus& status : news) {
    const auto pod = node_.pods().find(status.pod_uid);
    node_.events().Warning("ContainerLost",
                           pod != node_.pods().end() ? ObjectOf(pod->second.pod) : "pod/" + status.pod_uid,
                           fmt::format("container {} ended unseen{}", status.container,
                                       status.message.empty() ? "" : ": " + status.message));
    Take(status, now);
  }
  if (!news.empty()) node_.agenda().WakeAt(now);
}

}  // namespace berth::pods
