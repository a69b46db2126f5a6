// States of the newest attempt to run a container, and the events that lead from one to another. Pure.
//
//   not started --seen--> running --seen to have ended--> ended --its leftovers are killed--> swept
//
// A newer attempt begins anew in any of them. An attempt that was unknown, which counts as ended, may be seen to run
// on. While it runs it goes from its postStart hook to its startup probe and is up after that; beside that it may have
// to end: it is asked, and killed from some time on.
#ifndef BERTH_RUNTIME_LIFECYCLE_CONTAINER_ATTEMPT_H_
#define BERTH_RUNTIME_LIFECYCLE_CONTAINER_ATTEMPT_H_

#include <optional>
#include <variant>

#include "host/os/clock.h"
#include "runtime/lifecycle/lifecycle_times.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::runtime {

/// Between SIGTERM and SIGKILL, however short the grace period.
inline constexpr os::Millis kLeastTermTime{2'000};
/// Processes that have not ended so long after SIGKILL are stuck in the kernel, or frozen.
inline constexpr os::Millis kSlowDeath{10'000};

/// Of a container, as its manifest says.
struct HooksAndProbes {
  bool post_start = false;
  bool pre_stop = false;
  bool startup = false;
  bool readiness = false;
};

// ---- how far it has come ----

/// Its postStart hook is not over.
struct InPostStart {
  friend bool operator==(const InPostStart&, const InPostStart&) = default;
};
/// Its startup probe has not succeeded.
struct InStartup {
  friend bool operator==(const InStartup&, const InStartup&) = default;
};
struct Up {
  bool startup_said_so = false;  ///< false: it has no startup probe
  bool readiness_says_so = false;
  friend bool operator==(const Up&, const Up&) = default;
};
using Progress = std::variant<InPostStart, InStartup, Up>;

// ---- whether it has to end ----

struct NotAsked {
  friend bool operator==(const NotAsked&, const NotAsked&) = default;
};
struct AskedToEnd {
  os::MonoTime at{};
  std::optional<os::MonoTime> pre_stop_over{};  ///< SIGTERM follows the hook
  friend bool operator==(const AskedToEnd&, const AskedToEnd&) = default;
};
/// By an earlier berthd; the runtime has not been told again.
struct AskedEarlier {
  AskedToEnd before;
  friend bool operator==(const AskedEarlier&, const AskedEarlier&) = default;
};
struct BeingKilled {
  AskedToEnd before;
  os::MonoTime first{};
  os::MonoTime last{};
  friend bool operator==(const BeingKilled&, const BeingKilled&) = default;
};
using Stopping = std::variant<NotAsked, AskedToEnd, AskedEarlier, BeingKilled>;

/// nullptr: it was not asked.
const AskedToEnd* AskedOf(const Stopping& stopping);
/// When an attempt that was asked, and has to end by `end`, is killed next.
os::MonoTime NextKill(const Stopping& stopping, os::MonoTime end, const HooksAndProbes& has);

// ---- states ----

struct Attempt {
  ContainerStatus status;
  Progress progress;
  std::optional<os::MonoTime> end_by{};  ///< a probe ends it, and this is when the rest of it is killed
  Stopping stopping;
  friend bool operator==(const Attempt&, const Attempt&) = default;
};

struct NeverStarted {
  friend bool operator==(const NeverStarted&, const NeverStarted&) = default;
};
struct RunningAttempt {
  Attempt attempt;
  friend bool operator==(const RunningAttempt&, const RunningAttempt&) = default;
};
/// What it left in its cgroup is not killed yet.
struct EndedAttempt {
  Attempt attempt;  ///< as it was when it ran, but for its status
  os::MonoTime at{};
  friend bool operator==(const EndedAttempt&, const EndedAttempt&) = default;
};
struct SweptAttempt {
  Attempt attempt;
  os::MonoTime at{};
  friend bool operator==(const SweptAttempt&, const SweptAttempt&) = default;
};
using AttemptState = std::variant<NeverStarted, RunningAttempt, EndedAttempt, SweptAttempt>;

/// nullptr: none was seen.
const Attempt* AttemptOf(const AttemptState& state);
/// When its end was seen; nullopt: it has not ended.
std::optional<os::MonoTime> EndOf(const AttemptState& state);
template <class P>
bool IsRunningIn(const AttemptState& state) {
  const auto* const running = std::get_if<RunningAttempt>(&state);
  return running != nullptr && std::holds_alternative<P>(running->attempt.progress);
}

// ---- events ----

namespace attempt_event {

/// A status that is not kCreating. What is not running has ended, at `now` unless it had before.
struct Seen {
  ContainerStatus status;
  os::MonoTime now{};
};
/// Likewise, when the daemon starts; an end was at `ended_at`. Its postStart hook counts as over.
struct Found {
  ContainerStatus status;
  os::MonoTime ended_at{};
};
/// What an earlier berthd kept of the newest attempt.
struct Kept {
  LifecycleTimes::Of of;
};
struct PostStartOver {};
struct StartupSucceeded {};
struct ReadinessSaid {
  bool ready = false;
};
struct Unhealthy {
  os::MonoTime end_by{};
};
/// It has to end: it is asked if it was not, and killed from `end` on, or later if it was asked late.
struct HasToEnd {
  os::MonoTime end{};
  os::MonoTime now{};
};
struct PreStopOver {
  os::MonoTime now{};
};
/// Its leftovers are killed.
struct Sweep {};

}  // namespace attempt_event

using AttemptEvent =
    std::variant<attempt_event::Seen, attempt_event::Found, attempt_event::Kept, attempt_event::PostStartOver,
                 attempt_event::StartupSucceeded, attempt_event::ReadinessSaid, attempt_event::Unhealthy,
                 attempt_event::HasToEnd, attempt_event::PreStopOver, attempt_event::Sweep>;

/// The state that follows. An event that means nothing in a state changes nothing: a status of an older attempt, and
/// what hooks and probes say of one that does not run. The test has a table of both.
AttemptState Follow(AttemptState state, AttemptEvent event, const HooksAndProbes& has);

}  // namespace berth::runtime

#endif  // BERTH_RUNTIME_LIFECYCLE_CONTAINER_ATTEMPT_H_
