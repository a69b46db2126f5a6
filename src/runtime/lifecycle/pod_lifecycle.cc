#include "runtime/lifecycle/pod_lifecycle.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "base/time_text.h"
#include "runtime/lifecycle/hook.h"

namespace berth::runtime {
namespace {

constexpr os::Millis kWithSandbox{5'000};  // between the end of a container and the word that its sandbox has ended

void WakeAt(Steps& steps, os::MonoTime t) { steps.wake_at = steps.wake_at ? std::min(*steps.wake_at, t) : t; }

// The moment `text` (a wall clock time) stands for on the monotonic clock; `now` when unknown or in the future.
os::MonoTime Earlier(const std::string& text, os::MonoTime now, os::WallTime wall) {
  const std::optional<os::WallTime> t = ParseTime(text);
  return t && *t < wall ? now - (wall - *t) : now;
}

std::string EndReason(const ContainerStatus& status) {
  if (status.state == ContainerState::kUnknown || !status.exit_code) return "ContainerStatusUnknown";
  if (status.oom_killed) return "OOMKilled";
  if (*status.exit_code == 0) return "Completed";
  return *status.exit_code == kStartErrorExitCode && !status.message.empty() ? "StartError" : "Error";
}

}  // namespace

PodLifecycle::PodLifecycle(const Pod& pod, const BackoffOptions& backoff)
    : policy_(pod.restart_policy),
      grace_(std::chrono::seconds(std::clamp<std::int64_t>(pod.termination_grace_s, 0, kLongestGraceS))),
      options_(backoff),
      init_count_(pod.init_containers.size()) {
  if (pod.active_deadline_s)
    active_limit_ = std::chrono::seconds(std::clamp<std::int64_t>(*pod.active_deadline_s, 0, kLongestGraceS));
  ForEachContainer(pod, [&](const Container& container, ContainerKind kind) {
    Entry entry;
    entry.name = container.name;
    entry.kind = kind;
    entry.has = {.post_start = !PostStartOf(container).empty(),
                 .pre_stop = !PreStopOf(container).empty(),
                 .startup = container.startup.has_value(),
                 .readiness = container.readiness.has_value()};
    entry.backoff = Backoff(backoff);
    entry.policy = container.restart_policy;
    entry.rules = container.restart_rules;
    entries_.push_back(std::move(entry));
  });
  Changed();
}

void PodLifecycle::Changed() {
  static std::atomic<std::uint64_t> last = 0;
  version_ = ++last;
}

PodLifecycle::Entry* PodLifecycle::Find(std::string_view name) {
  const auto it = std::ranges::find(entries_, name, &Entry::name);
  return it == entries_.end() ? nullptr : &*it;
}

// `event`: what `status` is for the attempt, unless it is kCreating. False when it is older than what is known.
bool PodLifecycle::Take(Entry& entry, const ContainerStatus& status, AttemptEvent event) {
  Changed();
  if (status.state == ContainerState::kCreating) {
    entry.creating = status.attempt;
    return true;
  }
  if (entry.creating && status.attempt >= *entry.creating) entry.creating.reset();
  if (entry.started() && status.attempt < entry.last()->status.attempt) return false;
  if (!entry.started() || status.attempt > entry.last()->status.attempt) {
    entry.failed.reset();
    ++changes_;
  }
  const bool ended_before = entry.ended();
  entry.Follow(std::move(event));
  if (entry.ended() && !ended_before) ++changes_;
  return true;
}

void PodLifecycle::Recover(const ContainerStatus& status, os::MonoTime now, os::WallTime wall) {
  Entry* entry = Find(status.container);
  if (entry == nullptr) return;
  const os::MonoTime ended_at = Earlier(status.finished_at, now, wall);
  if (!Take(*entry, status, attempt_event::Found{.status = status, .ended_at = ended_at})) return;
  if (status.attempt > 0) entry->backoff.Recover(status.attempt, Earlier(status.started_at, now, wall));
}

void PodLifecycle::Restore(const LifecycleTimes& times) {
  Changed();
  if (!deadline_) deadline_ = times.deadline;
  if (!active_since_) active_since_ = times.active_since;
  overdue_ = overdue_ || times.overdue;
  for (const LifecycleTimes::Of& kept : times.containers) {
    Entry* entry = Find(kept.container);
    if (entry == nullptr) continue;
    const int attempt = entry->started() ? entry->last()->status.attempt : -1;
    if (kept.counted_attempt >= attempt) {
      entry->backoff.Recover(kept.restarts, kept.last_restart);
      if (kept.counted_attempt > 0) entry->counted_attempt = kept.counted_attempt;
    }
    if (kept.attempt < attempt)  // nothing was kept since it started
      entry->Follow(attempt_event::Kept{{.container = kept.container, .post_started = false}});
    if (kept.attempt != attempt) continue;
    if (!kept.post_started) entry->has.post_start = true;  // also before its manifest is read
    if (kept.retry_at)
      entry->failed = FailedStart{.failures = kept.start_failures,
                                  .retry_at = *kept.retry_at,
                                  .reason = kept.start_reason,
                                  .error = kept.start_error};
    entry->Follow(attempt_event::Kept{kept});
  }
  ++changes_;
}

LifecycleTimes PodLifecycle::Times() const {
  LifecycleTimes out{.deadline = deadline_, .active_since = active_since_, .overdue = overdue_, .containers = {}};
  out.containers.reserve(entries_.size());
  for (const Entry& entry : entries_) {
    LifecycleTimes::Of& of = out.containers.emplace_back();
    of.container = entry.name;
    of.ended_at = EndOf(entry.attempt);
    of.restarts = entry.backoff.restarts();
    of.last_restart = entry.backoff.last_restart();
    of.counted_attempt = entry.counted_attempt.value_or(0);
    if (entry.failed) {
      of.start_failures = entry.failed->failures;
      of.retry_at = entry.failed->retry_at;
      of.start_reason = entry.failed->reason;
      of.start_error = entry.failed->error;
    }
    of.post_started = !entry.has.post_start;
    const Attempt* const last = entry.last();
    if (last == nullptr) continue;
    of.attempt = last->status.attempt;
    of.end_by = last->end_by;
    of.post_started = !std::holds_alternative<InPostStart>(last->progress);
    if (const Up* const up = std::get_if<Up>(&last->progress)) {
      of.started = up->startup_said_so;
      of.ready = up->readiness_says_so;
    }
    if (const AskedToEnd* const asked = AskedOf(last->stopping)) {
      of.term_at = asked->at;
      of.asked = asked->pre_stop_over;
    }
  }
  return out;
}

void PodLifecycle::Observe(const ContainerStatus& status, os::MonoTime now) {
  if (Entry* entry = Find(status.container); entry != nullptr)
    Take(*entry, status, attempt_event::Seen{.status = status, .now = now});
}

void PodLifecycle::StartFailed(std::string_view container, const Error& error, os::MonoTime now,
                               std::string_view reason) {
  Entry* entry = Find(container);
  if (entry == nullptr || entry->running()) return;
  Changed();
  entry->creating.reset();
  const int failures = entry->failed ? entry->failed->failures + 1 : 1;
  entry->failed = FailedStart{.failures = failures,
                              .retry_at = now + BackoffDelay(failures, options_),
                              .reason = std::string(reason),
                              .error = error.message};
  ++changes_;
}

void PodLifecycle::RetryNow() {
  for (Entry& entry : entries_)
    if (entry.failed) entry.failed->retry_at = os::MonoTime();
  ++changes_;
}

void PodLifecycle::ForgiveEnds(os::MonoTime now) {
  for (Entry& entry : entries_)
    if (entry.started() && EndOf(entry.attempt).value_or(now) + kWithSandbox >= now)
      entry.counted_attempt = entry.next_attempt();  // as one that has had its back-off
  ++changes_;
}

PodLifecycle::Entry* PodLifecycle::FindRunning(std::string_view id) {
  const auto it = std::ranges::find_if(entries_, [&](const Entry& e) { return e.running_as(id); });
  return it == entries_.end() ? nullptr : &*it;
}

std::vector<std::pair<std::string, std::string>> PodLifecycle::WaitForPostStart() const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const Entry& entry : entries_)
    if (entry.in_post_start() && !entry.last()->end_by && AskedOf(entry.last()->stopping) == nullptr && !deadline_)
      out.emplace_back(entry.name, entry.last()->status.id);
  return out;
}

bool PodLifecycle::Runs(std::string_view id) const {
  return std::ranges::any_of(entries_, [&](const Entry& e) { return e.running_as(id); });
}

void PodLifecycle::SetPostStarted(std::string_view id) {
  Entry* const entry = FindRunning(id);
  if (entry == nullptr || !entry->in_post_start()) return;
  entry->Follow(attempt_event::PostStartOver());
  ++changes_;
  Changed();
}

void PodLifecycle::Asked(std::string_view id, os::MonoTime now) {
  Entry* const entry = FindRunning(id);
  if (entry == nullptr || !entry->has.pre_stop) return;
  entry->Follow(attempt_event::PreStopOver{now});
  ++changes_;
}

void PodLifecycle::SetStarted(std::string_view id) {
  Entry* const entry = FindRunning(id);
  if (entry == nullptr || !IsRunningIn<InStartup>(entry->attempt)) return;
  entry->Follow(attempt_event::StartupSucceeded());
  ++changes_;
  Changed();
}

void PodLifecycle::SetReady(std::string_view id, bool ready) {
  Entry* const entry = FindRunning(id);
  if (entry == nullptr || !entry->up() || std::get<Up>(entry->last()->progress).readiness_says_so == ready) return;
  entry->Follow(attempt_event::ReadinessSaid{ready});
  ++changes_;
  Changed();
}

bool PodLifecycle::EndUnhealthy(std::string_view id, os::MonoTime now, os::Millis grace) {
  Entry* const entry = FindRunning(id);
  if (entry == nullptr || entry->last()->end_by || deadline_) return false;
  entry->Follow(attempt_event::Unhealthy{now + grace});
  ++changes_;
  Changed();
  return true;
}

bool PodLifecycle::Restart(std::string_view id, os::MonoTime now) {
  if (!RestartsUnhealthy(id) || !EndUnhealthy(id, now, grace_)) return false;
  Entry& entry = *FindRunning(id);
  entry.counted_attempt = entry.next_attempt();  // as one that has had its back-off
  return true;
}

bool PodLifecycle::EndsUnhealthy(std::string_view id) const {
  return std::ranges::any_of(
      entries_, [&](const Entry& e) { return e.started() && e.last()->status.id == id && e.last()->end_by; });
}

bool PodLifecycle::RestartsUnhealthy(std::string_view id) const {
  const auto it = std::ranges::find_if(entries_, [&](const Entry& e) { return e.running_as(id); });
  if (it == entries_.end() || deadline_) return false;
  return it->kind == ContainerKind::kSidecar || it->policy.value_or(policy_) != RestartPolicy::kNever;
}

void PodLifecycle::Terminate(os::MonoTime now, std::optional<os::Millis> grace) {
  if (deadline_) return;
  Changed();
  deadline_ = now + std::min(grace_, grace.value_or(grace_));
  ++changes_;
}

bool PodLifecycle::MayRestart(const Entry& entry) const {
  if (entry.kind == ContainerKind::kSidecar) return true;
  if (entry.kind == ContainerKind::kInit && entry.succeeded()) return false;
  const std::optional<int> code = entry.started() ? entry.last()->status.exit_code : std::nullopt;
  const auto fits = [&](const RestartRule& rule) {
    return code && rule.in == (std::ranges::find(rule.exit_codes, *code) != rule.exit_codes.end());
  };
  return std::ranges::any_of(entry.rules, fits) || MayRestartByPolicy(entry);
}

bool PodLifecycle::MayRestartByPolicy(const Entry& entry) const {
  const RestartPolicy policy = entry.policy.value_or(policy_);
  if (policy == RestartPolicy::kNever) return false;
  const bool failed = !entry.succeeded() || entry.last()->end_by;  // a probe's word counts more than how it ended
  return failed || (policy == RestartPolicy::kAlways && entry.kind == ContainerKind::kApp);
}

bool PodLifecycle::AppsStarted() const {
  return std::any_of(entries_.begin() + static_cast<std::ptrdiff_t>(init_count_), entries_.end(),
                     [](const Entry& e) { return e.started(); });
}

// Nothing of the pod's own work will run again: apps ended for good, or an init container failed for good.
bool PodLifecycle::Done() const {
  bool apps_done = true;
  for (const Entry& entry : entries_) {
    if (entry.kind == ContainerKind::kInit && entry.ended() && !entry.succeeded() && !MayRestart(entry)) return true;
    if (entry.kind == ContainerKind::kApp) apps_done = apps_done && entry.ended() && !MayRestart(entry);
  }
  return apps_done;
}

Steps PodLifecycle::Next(os::MonoTime now) {
  Steps out;
  for (Entry& entry : entries_) {
    if (!std::holds_alternative<EndedAttempt>(entry.attempt)) continue;
    entry.Follow(attempt_event::Sweep());
    Changed();
    const ContainerStatus& status = entry.last()->status;
    out.actions.push_back({Action::Kind::kKill, entry.name, status.attempt, status.id, {}});
  }
  CheckActive(now, out);
  if (!deadline_ && Done()) Terminate(now);
  if (deadline_) {
    NextTermination(now, out);
    return out;
  }
  NextUnhealthy(now, out);
  if (std::ranges::any_of(entries_, &Entry::in_post_start)) return out;
  if (!NextInit(now, out)) return out;
  for (std::size_t i = init_count_; i < entries_.size(); ++i) {
    Entry& app = entries_[i];
    if (!app.started() || (app.ended() && MayRestart(app))) StartOrWait(app, now, out);
    if (StartsWithHook(app, out)) break;
  }
  return out;
}

// A pod that is active for longer than it may be has to go.
void PodLifecycle::CheckActive(os::MonoTime now, Steps& out) {
  if (!active_limit_ || deadline_) return;
  if (!active_since_) {
    active_since_ = now;
    ++changes_;
  }
  const os::MonoTime end = *active_since_ + *active_limit_;
  if (now < end) return WakeAt(out, end);
  overdue_ = true;
  Terminate(now);
}

// Starts what is due among the init containers; true when apps may start.
bool PodLifecycle::NextInit(os::MonoTime now, Steps& out) {
  std::size_t reached = 0;  // init containers before this one were started (or, records lost, apps were)
  for (std::size_t i = 0; i < init_count_; ++i)
    if (entries_[i].started()) reached = i + 1;
  const bool apps_started = AppsStarted();
  if (apps_started) reached = init_count_;
  for (std::size_t i = 0; i < reached; ++i) {
    Entry& entry = entries_[i];
    const bool newest = i + 1 == reached && !apps_started;
    if (entry.kind == ContainerKind::kSidecar) {
      if (!entry.running()) StartOrWait(entry, now, out);
      if (StartsWithHook(entry, out)) return false;
      if (!entry.up() && newest) return false;
    } else if (newest && !entry.succeeded()) {
      if (entry.ended()) StartOrWait(entry, now, out);
      return false;
    }
  }
  if (reached == init_count_) return true;
  StartOrWait(entries_[reached], now, out);
  return false;
}

void PodLifecycle::StartOrWait(Entry& entry, os::MonoTime now, Steps& out) {
  if (entry.creating) return;
  const int attempt = entry.next_attempt();
  const std::optional<os::MonoTime> ended_at = EndOf(entry.attempt);
  const bool restarts = ended_at && entry.counted_attempt != attempt;
  os::MonoTime at = now;
  if (entry.failed) {
    at = entry.failed->retry_at;
  } else if (restarts) {
    at = entry.backoff.RestartAt(*ended_at);
  }
  if (at > now) return WakeAt(out, at);
  if (restarts) {
    entry.backoff.Restarted(*ended_at, now);
    entry.counted_attempt = attempt;
    ++changes_;
    Changed();
  }
  out.actions.push_back({Action::Kind::kStart, entry.name, attempt, {}, {}});
}

// It is being started, and what follows waits for its postStart hook.
bool PodLifecycle::StartsWithHook(const Entry& entry, const Steps& out) {
  const bool named = !out.actions.empty() && out.actions.back().kind == Action::Kind::kStart &&
                     out.actions.back().container == entry.name;
  return entry.has.post_start && (entry.creating || named);
}

bool PodLifecycle::TermDue(std::size_t index, os::MonoTime now) const {
  if (entries_[index].kind != ContainerKind::kSidecar || now >= *deadline_) return true;
  for (std::size_t i = index + 1; i < entries_.size(); ++i)
    if (!entries_[i].idle() && entries_[i].kind != ContainerKind::kInit) return false;
  return true;
}

void PodLifecycle::NextTermination(os::MonoTime now, Steps& out) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    Entry& entry = entries_[i];
    if (!entry.running()) continue;
    const Attempt& attempt = *entry.last();
    if (AskedOf(attempt.stopping) == nullptr && !TermDue(i, now)) {
      WakeAt(out, *deadline_);
      continue;
    }
    EndOne(entry, std::min(attempt.end_by.value_or(*deadline_), *deadline_), now, out);
  }
}

// What probes want to end, beside the rest of the pod.
void PodLifecycle::NextUnhealthy(os::MonoTime now, Steps& out) {
  for (Entry& entry : entries_)
    if (entry.running() && entry.last()->end_by) EndOne(entry, *entry.last()->end_by, now, out);
}

// TERM once, KILL from `end` on.
void PodLifecycle::EndOne(Entry& entry, os::MonoTime end, os::MonoTime now, Steps& out) {
  const Stopping before = entry.last()->stopping;
  entry.Follow(attempt_event::HasToEnd{.end = end, .now = now});
  const Attempt& attempt = *entry.last();
  const auto add = [&](Action::Kind kind) -> Action& {
    return out.actions.emplace_back(Action{.kind = kind,
                                           .container = entry.name,
                                           .attempt = attempt.status.attempt,
                                           .id = attempt.status.id,
                                           .asked_at = {}});
  };
  const auto* const earlier = std::get_if<AskedEarlier>(&before);
  if (std::holds_alternative<NotAsked>(before)) ++changes_;
  if (std::holds_alternative<NotAsked>(before) || earlier != nullptr) {
    Action& term = add(Action::Kind::kTerm);
    term.unhealthy = !deadline_;
    if (earlier != nullptr) {
      term.asked_at = earlier->before.at;
      term.asked = earlier->before.pre_stop_over || !entry.has.pre_stop;
    }
  }
  const auto* const killed = std::get_if<BeingKilled>(&attempt.stopping);
  if (killed != nullptr && attempt.stopping != before) {
    if (!std::holds_alternative<BeingKilled>(before)) Changed();  // not ready any more
    add(Action::Kind::kKill).killing = std::chrono::duration_cast<os::Millis>(now - killed->first);
  }
  WakeAt(out, NextKill(attempt.stopping, end, entry.has));
}

bool PodLifecycle::finished() const {
  return deadline_ && std::ranges::none_of(entries_, [](const Entry& e) {
           return !e.idle() || std::holds_alternative<EndedAttempt>(e.attempt);
         });
}

bool PodLifecycle::creating() const {
  return std::ranges::any_of(entries_, [](const Entry& e) { return e.creating.has_value(); });
}

std::chrono::seconds PodLifecycle::GraceLeft(std::string_view container, os::MonoTime now) const {
  const auto entry = std::ranges::find(entries_, container, &Entry::name);
  const Attempt* const last = entry != entries_.end() ? entry->last() : nullptr;
  const std::optional<os::MonoTime> own = last != nullptr ? last->end_by : std::nullopt;
  const os::MonoTime wanted = own && deadline_ ? std::min(*own, *deadline_) : own ? *own : deadline_.value_or(now);
  const os::MonoTime end = std::max(wanted, now + kLeastTermTime);
  return std::chrono::ceil<std::chrono::seconds>(end - now);
}

PodPhase PodLifecycle::phase() const {
  bool succeeded = true;
  bool waiting = false;
  for (const Entry& entry : entries_) {
    if (entry.kind != ContainerKind::kApp) continue;
    succeeded = succeeded && entry.succeeded();
    waiting = waiting || !entry.started();
  }
  if (finished()) return succeeded && !overdue_ ? PodPhase::kSucceeded : PodPhase::kFailed;
  return waiting ? PodPhase::kPending : PodPhase::kRunning;
}

ContainerView PodLifecycle::View(const Entry& entry) const {
  ContainerView view;
  view.name = entry.name;
  view.kind = entry.kind;
  const Attempt* const last = entry.last();
  const std::optional<os::MonoTime> ended_at = EndOf(entry.attempt);
  if (last != nullptr) {
    view.last = last->status;
    view.restarts = last->status.attempt;
  }
  view.in_post_start = entry.in_post_start();
  view.started = entry.up();
  view.ready = entry.kind == ContainerKind::kInit
                   ? entry.succeeded()
                   : entry.up() && !std::holds_alternative<BeingKilled>(last->stopping) &&
                         (!entry.has.readiness || std::get<Up>(last->progress).readiness_says_so);
  if (ended_at) view.last_end = EndReason(last->status);
  const bool will_start = !deadline_ && (last == nullptr || (ended_at && MayRestart(entry)));
  if (entry.creating) {
    view.reason = "ContainerCreating";
  } else if (entry.running()) {
    view.state = ContainerView::State::kRunning;
  } else if (will_start && entry.failed) {
    view.reason = entry.failed->reason;
    view.message = entry.failed->error;
  } else if (will_start && ended_at && entry.backoff.Delay(*ended_at) > os::Millis(0)) {
    const auto delay = std::chrono::round<std::chrono::seconds>(entry.backoff.Delay(*ended_at));
    view.reason = "CrashLoopBackOff";
    view.message = "back-off " + std::to_string(delay.count()) + "s restarting failed container";
  } else if (last != nullptr) {
    view.state = ContainerView::State::kExited;
    view.reason = view.last_end;
    view.message = last->status.message;
  } else {
    const bool init_left = !AppsStarted() && std::any_of(entries_.begin(), entries_.end(), [](const Entry& e) {
      return e.kind == ContainerKind::kInit ? !e.succeeded() : e.kind == ContainerKind::kSidecar && !e.up();
    });
    view.reason = init_left ? "PodInitializing" : "ContainerCreating";
  }
  return view;
}

std::vector<ContainerView> PodLifecycle::containers() const {
  std::vector<ContainerView> out;
  out.reserve(entries_.size());
  for (const Entry& entry : entries_) out.push_back(View(entry));
  return out;
}

}  // namespace berth::runtime
