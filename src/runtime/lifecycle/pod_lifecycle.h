// Pod lifecycle state machine: the next steps for the containers of one pod, by the kubelet's rules. Pure.
//
// The caller reports what it sees (Recover, Observe, StartFailed, SetPostStarted, SetStarted, SetReady, EndUnhealthy,
// Asked, Terminate) and asks Next what to do; no clock, no I/O.
//
//   Next -> kStart c  -> Runtime::Start -> Observe(status) or StartFailed(error)
//        -> kTerm c   -> its preStop hook, then Runtime::Stop(id, GraceLeft), then Asked
//        -> kKill c   -> SIGKILL to everything in the container's cgroup; success when that is empty already
//   Runtime::Poll -> Observe(status) -> Next ...
//
// Rules: a container whose postStart hook is under way is not started yet, and nothing else of the pod is started
// before that is over. Init containers one after another; a sidecar counts as started once it runs and its startup
// probe, if it has one, succeeded, and the next one follows; apps start together after the last init container.
// Sidecars are always restarted; init containers after a failure unless restartPolicy is Never; apps as restartPolicy
// says; what a probe ended unless it is Never; a container's own rules and policy come before the pod's; all with
// back-off. A pod whose activeDeadlineSeconds are over is terminated and has failed. When no app will run again the
// sidecars are terminated. A container ends with its main process: what it left in its cgroup is killed (kKill after
// each exit), as the end of a PID namespace would do. A start that goes on in the background (kCreating) is waited for,
// also by the end of the pod.
//
// Termination: SIGTERM to apps and init containers at once, to a sidecar when all apps and all later sidecars ended (or
// the grace period did), in reverse order; SIGKILL after the grace period, but never less than 2 s after SIGTERM, which
// comes when a preStop hook is over.
#ifndef BERTH_RUNTIME_LIFECYCLE_POD_LIFECYCLE_H_
#define BERTH_RUNTIME_LIFECYCLE_POD_LIFECYCLE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "host/os/clock.h"
#include "model/pod.h"
#include "model/pod_view.h"
#include "runtime/lifecycle/backoff.h"
#include "runtime/lifecycle/container_attempt.h"
#include "runtime/lifecycle/lifecycle_times.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::runtime {

/// One step for the caller. Steps of one list are to be done in order.
struct Action {
  enum class Kind { kKill, kTerm, kStart };
  Kind kind = Kind::kStart;
  std::string container;
  int attempt = 0;  ///< kStart: StartRequest::attempt; else the attempt meant
  std::string id;   ///< kTerm, kKill: Runtime's id of the attempt
  /// kTerm: an earlier berthd asked it at this time; the runtime is told again, as one that may have forgotten.
  std::optional<os::MonoTime> asked_at;
  bool asked = false;      ///< kTerm with asked_at: its preStop hook, if it has one, was over then
  bool unhealthy = false;  ///< kTerm: a probe or a hook ends it, and not the pod
  os::Millis killing{0};   ///< kKill at a deadline: since the first one
  friend bool operator==(const Action&, const Action&) = default;
};

struct Steps {
  std::vector<Action> actions;
  std::optional<os::MonoTime> wake_at;  ///< call Next again then, even if nothing was observed
};

/// How a container looks to people.
struct ContainerView {
  using State = ContainerPhase;
  std::string name;
  ContainerKind kind = ContainerKind::kApp;
  State state = State::kWaiting;
  /// Waiting: PodInitializing, ContainerCreating, CrashLoopBackOff, CreateContainerError or what StartFailed was told.
  /// Exited: Completed, Error, OOMKilled, StartError, ContainerStatusUnknown.
  std::string reason;
  std::string message;
  int restarts = 0;
  bool in_post_start = false;  ///< it runs, and its postStart hook is not over
  bool started = false;        ///< it runs, and that hook is over and its startup probe succeeded if it has one
  bool ready = false;          ///< started, and its readiness probe says so; of an init container: it is done
  std::optional<ContainerStatus> last;  ///< newest attempt seen; also while waiting to be restarted
  std::string last_end;                 ///< how `last` ended, a reason as of kExited; "": it did not
};

/// Longer grace periods are cut to this (about 31 years).
inline constexpr std::int64_t kLongestGraceS = 1'000'000'000;

/// Value type: copies are independent. Not thread-safe.
class PodLifecycle {
 public:
  /// `pod` is copied. Times given to one object must not go backwards.
  explicit PodLifecycle(const Pod& pod, const BackoffOptions& backoff = {});

  /// A status found when the daemon started: also recovers the back-off from attempt and start time. `wall` is the wall
  /// clock at `now`. Unknown containers are ignored; the newest attempt counts.
  void Recover(const ContainerStatus& status, os::MonoTime now, os::WallTime wall);
  /// After Recover, with the times an earlier berthd kept: what was being terminated goes on to the deadline it had,
  /// without a second TERM (Action::asked_at); back-offs go on. What fits no attempt seen is left out.
  void Restore(const LifecycleTimes& times);
  /// To be kept when changes() is another one.
  LifecycleTimes Times() const;
  std::uint64_t changes() const { return changes_; }
  /// A status seen now (answer of Start, or Poll). Older attempts and unknown containers are ignored. kUnknown counts
  /// as ended by failure.
  void Observe(const ContainerStatus& status, os::MonoTime now);
  /// Start answered with an error, or came to nothing later: nothing runs. Retried with back-off, whatever
  /// restartPolicy says. `reason`: why it waits until then.
  void StartFailed(std::string_view container, const Error& error, os::MonoTime now,
                   std::string_view reason = "CreateContainerError");
  /// What made starts fail is gone: they are due now.
  void RetryNow();
  /// Somebody else ended the pod's sandbox: what runs, and what ended with it just now, is started anew without a
  /// back-off when it has ended.
  void ForgiveEnds(os::MonoTime now);
  /// Containers that run and whose postStart hooks are to be run, or under way: name and id.
  std::vector<std::pair<std::string, std::string>> WaitForPostStart() const;
  /// The container with this id runs.
  bool Runs(std::string_view id) const;
  /// The postStart hook of the container with this id is over and was a success. Others are ignored, here and below.
  void SetPostStarted(std::string_view id);
  /// The container with this id was asked to end, at last: its preStop hook is over.
  void Asked(std::string_view id, os::MonoTime now);
  /// The startup probe of the container with this id has succeeded.
  void SetStarted(std::string_view id);
  /// What its readiness probe says. Ignored before it is up: nobody asks the probe before that.
  void SetReady(std::string_view id, bool ready);
  /// A probe says that the container with this id has to end, within `grace`; it is started anew as restartPolicy lets
  /// it. False: it does not run, or has to end already.
  bool EndUnhealthy(std::string_view id, os::MonoTime now, os::Millis grace);
  /// Somebody wants the container with this id ended, within the pod's grace period, and started anew: at once when it
  /// has ended, without a back-off. False: as EndUnhealthy, or it would not be started again.
  bool Restart(std::string_view id, os::MonoTime now);
  /// Such an end is under way, or over, of the container with this id.
  bool EndsUnhealthy(std::string_view id) const;
  /// A container that a probe ended now would be started again.
  bool RestartsUnhealthy(std::string_view id) const;
  /// The pod has to go, after its grace period at the latest, or after `grace` if that is shorter; called again:
  /// nothing changes.
  void Terminate(os::MonoTime now, std::optional<os::Millis> grace = std::nullopt);

  /// What to do now. TERM and the KILL of leftovers are named once; KILL at the deadline again every second, from
  /// kSlowDeath on every ten, until the container is seen to have ended. A start is named until its result is reported.
  Steps Next(os::MonoTime now);

  /// Time until SIGKILL, for this container, which is asked to end now.
  std::chrono::seconds GraceLeft(std::string_view container, os::MonoTime now) const;
  /// The pod has to go, or is done.
  bool ending() const { return deadline_.has_value(); }
  /// Its activeDeadlineSeconds are over.
  bool overdue() const { return overdue_; }
  /// A start goes on in the background.
  bool creating() const;
  /// Another number whenever phase() or containers() may be others; no two objects have the same one but copies that
  /// nothing happened to since. Never 0.
  std::uint64_t version() const { return version_; }

  PodPhase phase() const;
  /// Nothing runs and nothing will be started again.
  bool finished() const;
  /// Init containers (sidecars among them) in order, then apps.
  std::vector<ContainerView> containers() const;

 private:
  /// A start that came to nothing, and those before it in a row.
  struct FailedStart {
    int failures = 0;
    os::MonoTime retry_at{};
    std::string reason;
    std::string error;
  };
  struct Entry {
    std::string name;
    ContainerKind kind = ContainerKind::kApp;
    HooksAndProbes has;
    std::optional<RestartPolicy> policy;
    std::vector<RestartRule> rules;
    AttemptState attempt;               // the newest one seen
    std::optional<int> creating;        // the one that is being started in the background
    std::optional<FailedStart> failed;  // since the newest one seen
    Backoff backoff;
    std::optional<int> counted_attempt;  // restart already entered into `backoff`

    const Attempt* last() const { return AttemptOf(attempt); }
    bool running() const { return std::holds_alternative<RunningAttempt>(attempt); }
    bool running_as(std::string_view id) const { return running() && last()->status.id == id; }
    bool started() const { return last() != nullptr; }
    bool ended() const { return started() && !running(); }
    bool in_post_start() const { return IsRunningIn<InPostStart>(attempt); }
    bool up() const { return IsRunningIn<Up>(attempt); }
    bool idle() const { return !running() && !creating; }
    bool succeeded() const { return ended() && last()->status.exit_code == 0; }
    int next_attempt() const { return started() ? last()->status.attempt + 1 : 0; }
    void Follow(AttemptEvent event) { attempt = runtime::Follow(std::move(attempt), std::move(event), has); }
  };

  void Changed();
  Entry* Find(std::string_view name);
  bool Take(Entry& entry, const ContainerStatus& status, AttemptEvent event);
  Entry* FindRunning(std::string_view id);
  bool MayRestart(const Entry& entry) const;
  bool MayRestartByPolicy(const Entry& entry) const;
  bool AppsStarted() const;
  bool Done() const;
  bool NextInit(os::MonoTime now, Steps& out);
  static bool StartsWithHook(const Entry& entry, const Steps& out);
  void StartOrWait(Entry& entry, os::MonoTime now, Steps& out);
  void CheckActive(os::MonoTime now, Steps& out);
  void NextUnhealthy(os::MonoTime now, Steps& out);
  void EndOne(Entry& entry, os::MonoTime end, os::MonoTime now, Steps& out);
  bool TermDue(std::size_t index, os::MonoTime now) const;
  void NextTermination(os::MonoTime now, Steps& out);
  ContainerView View(const Entry& entry) const;

  std::uint64_t version_ = 0;
  RestartPolicy policy_;
  os::Millis grace_;
  BackoffOptions options_;
  std::vector<Entry> entries_;  // init containers in order, then apps
  std::size_t init_count_ = 0;
  std::optional<os::Millis> active_limit_;    // activeDeadlineSeconds
  std::optional<os::MonoTime> active_since_;  // when these began
  bool overdue_ = false;                      // they are over
  std::optional<os::MonoTime> deadline_;      // the pod has to go, and this is when the rest of it is killed
  std::uint64_t changes_ = 0;                 // of what Times() returns
};

}  // namespace berth::runtime

#endif  // BERTH_RUNTIME_LIFECYCLE_POD_LIFECYCLE_H_
