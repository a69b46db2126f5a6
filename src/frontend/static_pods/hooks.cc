#include "frontend/static_pods/hooks.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/text.h"
#include "frontend/probes/ask.h"
#include "frontend/probes/target.h"
#include "frontend/static_pods/container_starter.h"

namespace berth::pods {
namespace {

constexpr std::chrono::seconds kLongestPostStart{600};  // a kubelet waits without an end
constexpr std::size_t kMostHookOutput = 200;            // of an event

using probes::Outcome;

Outcome HookFailed(std::string problem) { return {Outcome::Kind::kFailure, std::move(problem)}; }

}  // namespace

std::string_view Hooks::NameOf(Kind kind) { return kind == Kind::kPostStart ? "PostStart" : "PreStop"; }

void Hooks::Look(ManagedPod& managed, os::MonoTime now) {
  if (stopped_ || !managed.lifecycle) return;
  for (const auto& [container, id] : managed.lifecycle->WaitForPostStart()) {
    const Key key(id, Kind::kPostStart);
    const auto known = running_.find(managed.pod.uid);
    if (known != running_.end() && known->second.contains(key)) continue;
    const FoundContainer found = FindContainer(managed.pod, container);
    if (found.container != nullptr && !runtime::PostStartOf(*found.container).empty())
      Begin(managed, *found.container, key, runtime::PostStartOf(*found.container), kLongestPostStart, now);
    else
      managed.lifecycle->SetPostStarted(id);  // an earlier manifest had one
  }
  const auto known = running_.find(managed.pod.uid);
  if (known == running_.end()) return;
  std::vector<Key> over;
  for (const auto& [key, running] : known->second) {
    if (!running.wake) continue;
    if (now >= *running.wake || !managed.lifecycle->Runs(key.first))
      over.push_back(key);
    else
      node_.agenda().WakeAt(*running.wake);
  }
  for (const Key& key : over) Ended(managed.pod.uid, key, {Outcome::Kind::kSuccess, ""});
}

bool Hooks::BeginPreStop(const ManagedPod& managed, const Container& container, const std::string& id,
                         std::chrono::seconds grace, std::chrono::seconds slept, os::MonoTime now) {
  runtime::Hook hook = runtime::PreStopOf(container);
  if (stopped_ || hook.empty()) return false;
  if (hook.exec.empty() && !hook.http) hook.sleep_s = std::max<std::int64_t>(hook.sleep_s - slept.count(), 0);
  Begin(managed, container, {id, Kind::kPreStop}, hook, grace, now);
  return true;
}

void Hooks::Begin(const ManagedPod& managed, const Container& container, const Key& key, const runtime::Hook& hook,
                  os::Millis limit, os::MonoTime now) {
  const std::string uid = managed.pod.uid;
  Running& running =
      running_[uid].insert_or_assign(key, Running{.container = container.name, .wake = {}}).first->second;
  if (hook.exec.empty() && !hook.http) {
    const std::chrono::seconds sleep(std::clamp<std::int64_t>(hook.sleep_s, 0, runtime::kLongestGraceS));
    running.wake = now + (key.second == Kind::kPreStop ? std::min<os::Millis>(sleep, limit) : os::Millis(sleep));
    return node_.agenda().WakeAt(*running.wake);
  }
  auto job = JobOf(managed.pod, container, key.first, hook);
  if (!job) job = [problem = "failed: " + job.error().message](os::Millis, int) { return HookFailed(problem); };
  Run(uid, key, managed.pod.name, *std::move(job), limit);
}

/// What it takes, on another thread.
Result<Hooks::Job> Hooks::JobOf(const Pod& pod, const Container& container, const std::string& id,
                                const runtime::Hook& hook) const {
  if (!hook.exec.empty()) {
    BERTH_TRY(runtime::ExecJob exec, node_.runtime().PrepareExec(id, hook.exec));
    return Job([exec = std::move(exec)](os::Millis limit, int cancel_fd) mutable -> Outcome {
      const auto ran = exec(limit, cancel_fd);
      if (!ran) return HookFailed("failed: " + ran.error().message);
      if (ran->exit_code == 0) return {Outcome::Kind::kSuccess, ""};
      return HookFailed(
          fmt::format("ended with exit code {}: {}", ran->exit_code, Printable(Trim(ran->output), kMostHookOutput)));
    });
  }
  const std::vector<std::string> addresses = context_.AddressesOf(pod);
  std::string address = addresses.empty() ? "" : addresses.front();
  if (context_.IsInNodesNetwork(pod)) address = "127.0.0.1";
  BERTH_TRY(probes::HttpTarget target, probes::TargetOf(*hook.http, container, address, probes::kHookAgent));
  target.any_status = target.plain_if_no_tls = true;
  return Job([target = std::move(target)](os::Millis limit, int cancel_fd) -> Outcome {
    Outcome outcome = probes::Ask(target, limit, cancel_fd);
    return outcome.success() ? outcome : HookFailed("failed: " + outcome.text);
  });
}

void Hooks::Run(const std::string& uid, const Key& key, std::string_view pod, Job job, os::Millis limit) {
  if (!cancel_) {
    if (auto pair = os::MakeSocketPair()) cancel_ = std::make_shared<os::SocketPair>(*std::move(pair));
  }
  auto outcome = std::make_shared<Outcome>();
  executor_.Run(
      fmt::format("hook/{}/{}", pod, key.first),
      [outcome, cancel = cancel_, limit, job = std::move(job)]() mutable {
        *outcome = job(limit, cancel ? cancel->theirs.get() : -1);
      },
      [this, uid, key, outcome] { Ended(uid, key, *outcome); });
}

/// Its container or pod may be gone: then nobody waits for it.
void Hooks::Ended(const std::string& uid, const Key& key, const Outcome& outcome) {
  const auto known = running_.find(uid);
  if (stopped_ || known == running_.end()) return;
  const auto found = known->second.find(key);
  if (found == known->second.end()) return;
  const std::string container = std::move(found->second.container);
  known->second.erase(found);
  if (known->second.empty()) running_.erase(known);
  const auto pod = node_.pods().find(uid);
  if (pod == node_.pods().end() || !pod->second.lifecycle || !pod->second.lifecycle->Runs(key.first)) return;
  const bool post_start = key.second == Kind::kPostStart;
  ManagedPod& managed = pod->second;
  const std::string what =
      fmt::format("container {}: {} {}", container, post_start ? "postStart" : "preStop", outcome.text);
  if (!outcome.success())
    node_.events().Warning(fmt::format("Failed{}Hook", NameOf(key.second)), ObjectOf(managed.pod),
                           what + (post_start ? "; the container is ended" : ""));
  else if (outcome.kind == Outcome::Kind::kWarning)
    node_.events().Warning("LifecycleHTTPFallback", ObjectOf(managed.pod), what);
  node_.agenda().WakeNow();
  if (!post_start) return then_(uid, container, key.first);
  if (outcome.success()) {
    managed.lifecycle->SetPostStarted(key.first);
  } else {
    const std::chrono::seconds grace(
        std::clamp<std::int64_t>(managed.pod.termination_grace_s, 0, runtime::kLongestGraceS));
    managed.lifecycle->EndUnhealthy(key.first, node_.clock().Now(), grace);
  }
  context_.Keep(managed);  // before anybody sees it
}

void Hooks::Stop() {
  stopped_ = true;
  running_.clear();
  if (cancel_) cancel_->ours.reset();
}

}  // namespace berth::pods
