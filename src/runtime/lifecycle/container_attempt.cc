#include "runtime/lifecycle/container_attempt.h"

#include <algorithm>
#include <utility>

namespace berth::runtime {
namespace {

constexpr os::Millis kKillAgain{1'000};

template <class A, class State>
A* FindAttempt(State& state) {
  if (auto* const runs = std::get_if<RunningAttempt>(&state)) return &runs->attempt;
  if (auto* const ended = std::get_if<EndedAttempt>(&state)) return &ended->attempt;
  if (auto* const swept = std::get_if<SweptAttempt>(&state)) return &swept->attempt;
  return nullptr;
}

Progress AfterPostStart(const HooksAndProbes& has) { return has.startup ? Progress(InStartup()) : Progress(Up()); }

/// One overload for each event, which may be moved from.
struct AttemptTransition {
  AttemptState& state;
  const HooksAndProbes& has;

  Attempt* running() const {
    auto* const runs = std::get_if<RunningAttempt>(&state);
    return runs != nullptr ? &runs->attempt : nullptr;
  }

  Progress Begin() const { return has.post_start ? Progress(InPostStart()) : AfterPostStart(has); }
  void SetEnd(os::MonoTime at) const {
    if (auto* const ended = std::get_if<EndedAttempt>(&state)) ended->at = at;
    if (auto* const swept = std::get_if<SweptAttempt>(&state)) swept->at = at;
  }

  void operator()(attempt_event::Seen& event) const {
    Attempt* const known = FindAttempt<Attempt>(state);
    if (known != nullptr && event.status.attempt < known->status.attempt) return;
    const bool is_new = known == nullptr || event.status.attempt > known->status.attempt;
    Attempt next = is_new ? Attempt{.status = {}, .progress = Begin(), .stopping = {}} : std::move(*known);
    next.status = std::move(event.status);
    if (next.status.state == ContainerState::kRunning)
      state = RunningAttempt{std::move(next)};
    else if (is_new || running() != nullptr)
      state = EndedAttempt{.attempt = std::move(next), .at = event.now};
    else
      *known = std::move(next);
  }
  void operator()(attempt_event::Found& event) const {
    const int number = event.status.attempt;
    attempt_event::Seen seen{.status = std::move(event.status), .now = event.ended_at};
    (*this)(seen);
    Attempt* const attempt = FindAttempt<Attempt>(state);
    if (attempt->status.attempt != number) return;  // it was older
    if (std::holds_alternative<InPostStart>(attempt->progress)) attempt->progress = AfterPostStart(has);
    SetEnd(event.ended_at);
  }
  void operator()(const attempt_event::Kept& event) const {
    Attempt* const attempt = FindAttempt<Attempt>(state);
    if (attempt == nullptr) return;
    if (has.post_start && !event.of.post_started)
      attempt->progress = InPostStart();
    else if (has.startup && !event.of.started)
      attempt->progress = InStartup();
    else
      attempt->progress = Up{.startup_said_so = event.of.started, .readiness_says_so = event.of.ready};
    attempt->end_by = event.of.end_by;
    if (event.of.ended_at) SetEnd(*event.of.ended_at);
    if (running() != nullptr && event.of.term_at)
      attempt->stopping = AskedEarlier{{.at = *event.of.term_at, .pre_stop_over = event.of.asked}};
  }
  void operator()(const attempt_event::PostStartOver&) const {
    if (IsRunningIn<InPostStart>(state)) running()->progress = AfterPostStart(has);
  }
  void operator()(const attempt_event::StartupSucceeded&) const {
    if (IsRunningIn<InStartup>(state)) running()->progress = Up{.startup_said_so = true};
  }
  void operator()(const attempt_event::ReadinessSaid& event) const {
    if (!IsRunningIn<Up>(state)) return;
    std::get<Up>(running()->progress).readiness_says_so = event.ready;
  }
  void operator()(const attempt_event::Unhealthy& event) const {
    if (Attempt* const attempt = running(); attempt != nullptr && !attempt->end_by) attempt->end_by = event.end_by;
  }
  void operator()(const attempt_event::HasToEnd& event) const {
    if (running() == nullptr) return;
    Stopping& stopping = running()->stopping;
    if (std::holds_alternative<NotAsked>(stopping)) stopping = AskedToEnd{.at = event.now};
    const AskedToEnd asked = *AskedOf(stopping);
    if (std::holds_alternative<AskedEarlier>(stopping)) stopping = asked;
    if (event.now < NextKill(stopping, event.end, has)) return;
    auto* const killed = std::get_if<BeingKilled>(&stopping);
    stopping = BeingKilled{.before = asked, .first = killed != nullptr ? killed->first : event.now, .last = event.now};
  }
  void operator()(const attempt_event::PreStopOver& event) const {
    if (!has.pre_stop || running() == nullptr) return;
    Stopping& stopping = running()->stopping;
    if (auto* const asked = std::get_if<AskedToEnd>(&stopping)) asked->pre_stop_over = event.now;
    if (auto* const asked = std::get_if<AskedEarlier>(&stopping)) asked->before.pre_stop_over = event.now;
    if (auto* const killed = std::get_if<BeingKilled>(&stopping)) killed->before.pre_stop_over = event.now;
  }
  void operator()(const attempt_event::Sweep&) const {
    if (auto* const ended = std::get_if<EndedAttempt>(&state))
      state = SweptAttempt{.attempt = std::move(ended->attempt), .at = ended->at};
  }
};

}  // namespace

const AskedToEnd* AskedOf(const Stopping& stopping) {
  if (const auto* const asked = std::get_if<AskedToEnd>(&stopping)) return asked;
  if (const auto* const asked = std::get_if<AskedEarlier>(&stopping)) return &asked->before;
  if (const auto* const killed = std::get_if<BeingKilled>(&stopping)) return &killed->before;
  return nullptr;
}

os::MonoTime NextKill(const Stopping& stopping, os::MonoTime end, const HooksAndProbes& has) {
  if (const auto* const killed = std::get_if<BeingKilled>(&stopping))
    return killed->last + (killed->last - killed->first < kSlowDeath ? kKillAgain : kSlowDeath);
  const AskedToEnd& asked = *AskedOf(stopping);
  // A hook may take all the time there is.
  const os::MonoTime signalled = has.pre_stop ? asked.pre_stop_over.value_or(std::max(end, asked.at)) : asked.at;
  return std::max(end, signalled + kLeastTermTime);
}

const Attempt* AttemptOf(const AttemptState& state) { return FindAttempt<const Attempt>(state); }

std::optional<os::MonoTime> EndOf(const AttemptState& state) {
  return std::visit(
      [](const auto& s) -> std::optional<os::MonoTime> {
        if constexpr (requires { s.at; })
          return s.at;
        else
          return std::nullopt;
      },
      state);
}

AttemptState Follow(AttemptState state, AttemptEvent event, const HooksAndProbes& has) {
  std::visit(AttemptTransition{state, has}, event);
  return state;
}

}  // namespace berth::runtime
