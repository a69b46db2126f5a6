#include "runtime/process_runtime.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "os/event_fd.h"
#include "os/fs.h"
#include "os/lock_file.h"
#include "os/pidfd.h"
#include "os/timer_fd.h"
#include "runtime/launcher.h"
#include "runtime/record.h"

namespace berth::runtime {
namespace {

constexpr os::Millis kSettleStep{10};
constexpr std::string_view kNotStartedReason = "CreateContainerError";
constexpr std::size_t kMaxId = 200;  // a directory name
constexpr os::Millis kSettleLimit = Launcher::kSettleLimit;
// A supervisor whose container's process has ended records that at once. One that does not is told to go on after the
// first time, should somebody have stopped it, and done without after the second.
constexpr os::Millis kSilence{2'000};
constexpr os::Millis kLongestSilence{10'000};
constexpr std::uint64_t kNewsToken = 0;   // of the descriptor that tells of starts
constexpr std::uint64_t kTimerToken = 1;  // of the timer for supervisors that are silent

// One container known to this runtime.
struct Held {
  ShimRequest request;
  ShimState state;
  ContainerStatus status;        // as last returned or reported
  bool creating = false;         // it is being started by another thread
  int pending_signal = 0;        // came meanwhile
  os::UniqueFd shim;             // not valid once the supervisor has ended
  os::UniqueFd main;             // not valid once the process has ended
  std::uint64_t token = 0;       // of the supervisor in the set of watched handles; without one, of the process
  std::uint64_t main_token = 0;  // of the process beside its supervisor
  std::optional<os::MonoTime> silent_since;  // the process has ended, and the supervisor was not seen to end yet
  bool roused = false;                       // it was told to go on
};

bool IsSafeName(std::string_view name) {
  return !name.empty() && name[0] != '.' && name.size() <= kMaxId && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_';
  });
}

Result<void> CheckRequest(const StartRequest& request) {
  const std::string who =
      "container '" + Printable(request.container.name) + "' of pod '" + Printable(request.pod_uid) + "'";
  if (!IsSafeName(request.pod_uid) || !IsSafeName(request.container.name) || request.attempt < 0)
    return Fail(Code::kInvalid, who + ": pod uid and container name must consist of letters, digits, '-', '.' and '_'");
  if (request.container.command.empty() && request.container.args.empty())
    return Fail(Code::kInvalid, who + " has no command: set spec.containers[].command (processes have no image)");
  if (!request.log_path.starts_with('/') || request.log_max_files < 1)
    return Fail(Code::kInvalid, who + ": the log path must be absolute and keep at least one file");
  if (request.cgroup.v2 && request.cgroup.dirs.size() != 1)
    return Fail(Code::kInvalid, who + ": exactly one cgroup directory is needed on cgroup v2");
  std::string words = request.container.working_dir;
  for (const std::string& word : request.container.command) words += word;
  for (const std::string& word : request.container.args) words += word;
  if (words.find('\0') != std::string::npos)
    return Fail(Code::kInvalid, who + ": command, args and workingDir cannot hold a zero byte");
  for (const auto& [name, value] : request.env) {
    if (name.empty() || name.find('=') != std::string::npos || (name + value).find('\0') != std::string::npos)
      return Fail(Code::kInvalid, who + ": '" + Printable(name) + "' cannot be an environment variable");
  }
  return {};
}

// Unique over all attempts, also when a pod comes back with the same uid.
std::string MakeId(const StartRequest& request) {
  char moment[24];
  std::snprintf(moment, sizeof moment, "%llx",
                static_cast<unsigned long long>(os::SystemClock().Wall().time_since_epoch().count()));
  return request.pod_uid + "." + request.container.name + "." + std::to_string(request.attempt) + "." + moment;
}

ShimRequest MakeShimRequest(const StartRequest& request, std::string id) {
  ShimRequest out;
  out.id = std::move(id);
  out.pod_uid = request.pod_uid;
  out.pod_namespace = request.pod_namespace;
  out.pod_name = request.pod_name;
  out.container = request.container.name;
  out.attempt = request.attempt;
  out.argv = request.container.command;
  out.argv.insert(out.argv.end(), request.container.args.begin(), request.container.args.end());
  for (const auto& [name, value] : request.env) out.env.push_back(name + "=" + value);
  out.working_dir = request.container.working_dir;
  out.cgroup = request.cgroup;
  out.oom_score_adj = request.oom_score_adj;
  out.log_path = request.log_path;
  out.log_max_bytes = request.log_max_bytes;
  out.log_max_files = request.log_max_files;
  return out;
}

// Whether a record that cannot be used is lost for good: trying again would not help.
bool IsGone(const Error& error) {
  return error.code == Code::kNotFound || error.code == Code::kCorrupt || error.sys == ENOTDIR;
}

class ProcessRuntime final : public Runtime {
 public:
  ProcessRuntime(ProcessRuntimeOptions options, os::LockFile lock, std::unique_ptr<os::Fs> fs, os::PidfdSet watched,
                 os::EventFd news, os::TimerFd timer)
      : options_(std::move(options)),
        lock_(std::move(lock)),
        launcher_(std::make_shared<Launcher>(LauncherOptions{.run_dir = options_.run_dir,
                                                             .shim_path = options_.shim_path,
                                                             .shim_cgroup = options_.shim_cgroup,
                                                             .start_deadline = options_.start_deadline},
                                             std::move(fs))),
        watched_(std::move(watched)),
        news_(std::move(news)),
        timer_(std::move(timer)) {}

  /// Takes over what earlier runtimes left in the directory.
  Result<void> Recover();

  Result<ContainerStatus> Start(const StartRequest& request) override;
  Result<void> Signal(std::string_view id, int signal) override;
  void Kill(std::string_view id) override;
  Result<std::vector<ContainerStatus>> List() override;
  int event_fd() const override { return watched_.fd(); }
  std::vector<ContainerStatus> Poll() override;
  Result<void> Forget(std::string_view id) override;
  std::vector<Notice> TakeNotices() override { return std::exchange(notices_, {}); }

 private:
  void Started(const std::string& id, Result<Launched> launched);
  void Forgotten(const std::string& pod_uid, const Result<void>& removed);
  Result<void> RecoverOne(const std::string& id);
  void Rehome(int shim);
  Result<void> RecoverRunning(Held& held, bool this_boot);
  bool Settle(const std::string& id, Held& held);
  void Adopt(Held held);
  void Lose(Held& held, std::string message);
  void Refresh(Held& held, std::uint64_t token);
  void MainEnded(Held& held);
  void LookAtSilent();
  void LookAtSilent(Held& held, os::MonoTime now);
  void DoWithout(Held& held);
  bool WatchOne(Held& held, int fd, std::uint64_t& token);
  void Watch(Held& held);
  void Unwatch(Held& held);
  static ContainerStatus StatusOf(const Held& held);

  ProcessRuntimeOptions options_;
  os::LockFile lock_;
  std::shared_ptr<Launcher> launcher_;                           // also of jobs under way
  const std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // for their ends: gone with this runtime
  os::PidfdSet watched_;
  os::EventFd news_;                      // there are some of these
  os::TimerFd timer_;                     // for those with silent_since
  std::vector<ContainerStatus> started_;  // what came of starts
  std::vector<Notice> notices_;
  std::map<std::string, Held, std::less<>> held_;
  std::map<std::uint64_t, std::string> by_token_;
  std::uint64_t next_token_ = kTimerToken + 1;
};

// ---- status ----

ContainerStatus ProcessRuntime::StatusOf(const Held& held) {
  ContainerStatus status;
  status.id = held.request.id;
  status.pod_uid = held.request.pod_uid;
  status.container = held.request.container;
  status.attempt = held.request.attempt;
  status.log_path = held.request.log_path;
  status.pid = held.state.pid;
  status.message = held.state.message;
  status.started_at = held.state.started_at;
  status.finished_at = held.state.finished_at;
  status.warnings = held.state.warnings;
  if (held.creating) {
    status.state = ContainerState::kCreating;
    return status;
  }
  switch (held.state.phase) {
    case ShimPhase::kRunning: status.state = ContainerState::kRunning; break;
    case ShimPhase::kExited:
      status.state = ContainerState::kExited;
      status.exit_code = held.state.exit_code;
      status.signal = held.state.signal;
      status.oom_killed = held.state.oom_killed;
      break;
    case ShimPhase::kReady:
    case ShimPhase::kStarting:
    case ShimPhase::kFailed: status.state = ContainerState::kUnknown; break;
  }
  return status;
}

// The end of a container nobody saw.
void ProcessRuntime::Lose(Held& held, std::string message) {
  held.shim.reset();
  held.main.reset();
  held.state.phase = ShimPhase::kFailed;
  held.state.message = std::move(message);
  held.state.finished_at = os::FormatTime(os::SystemClock().Wall());
}

bool ProcessRuntime::WatchOne(Held& held, int fd, std::uint64_t& token) {
  token = next_token_++;
  if (Result<void> added = watched_.Add(fd, token); !added) {
    held.state.warnings.push_back("its end will not be noticed: " + added.error().message);
    return false;
  }
  by_token_.emplace(token, held.request.id);
  return true;
}

// Puts what to wait for into the watched set: the supervisor and its process, or what there is of them.
void ProcessRuntime::Watch(Held& held) {
  if (!held.shim.valid() && !held.main.valid()) return;
  if (!WatchOne(held, held.shim.valid() ? held.shim.get() : held.main.get(), held.token) || !held.shim.valid()) return;
  if (held.main.valid())
    WatchOne(held, held.main.get(), held.main_token);
  else if (held.state.phase == ShimPhase::kRunning)
    MainEnded(held);
}

void ProcessRuntime::Unwatch(Held& held) {
  by_token_.erase(held.token);
  by_token_.erase(held.main_token);
}

// The kernel's word, not yet the supervisor's: that one has a moment to record how.
void ProcessRuntime::MainEnded(Held& held) {
  by_token_.erase(held.main_token);
  if (held.main.valid()) watched_.Remove(held.main.get());
  held.main.reset();
  held.silent_since = os::SystemClock().Now();
  LookAtSilent();
}

// Sets the timer for the first of them, after doing what is due.
void ProcessRuntime::LookAtSilent() {
  const os::MonoTime now = os::SystemClock().Now();
  std::optional<os::MonoTime> next;
  for (auto& [id, held] : held_) {
    if (!held.silent_since || !held.shim.valid()) continue;
    LookAtSilent(held, now);
    const os::MonoTime due = *held.silent_since + (held.roused ? kLongestSilence : kSilence);
    next = std::min(next.value_or(due), due);
  }
  if (next)
    timer_.Set(std::max(*next, now + kSettleStep));
  else
    timer_.Clear();
}

void ProcessRuntime::LookAtSilent(Held& held, os::MonoTime now) {
  if (now - *held.silent_since >= kLongestSilence) return DoWithout(held);
  if (held.roused || now - *held.silent_since < kSilence) return;
  held.roused = true;
  if (!os::IsStopped(held.state.shim_pid)) return;  // a disk that is slow or full, perhaps
  static_cast<void>(os::SendSignal(held.shim.get(), SIGCONT).has_value());
  notices_.push_back({.reason = "SupervisorStopped",
                      .pod_uid = held.request.pod_uid,
                      .message = "container " + held.request.container + ": its supervisor, process " +
                                 std::to_string(held.state.shim_pid) +
                                 ", was stopped by somebody; it was told to go on"});
  news_.Signal();
}

// Takes note of the end in the supervisor's place. What the kernel keeps of the process goes with the supervisor.
void ProcessRuntime::DoWithout(Held& held) {
  if (Result<ShimState> state = launcher_->ReadState(held.request.id); state) held.state = *std::move(state);
  if (held.state.phase == ShimPhase::kRunning) {
    if (const auto status = os::UnreapedStatus(held.state.pid, held.state.start)) {
      held.state.phase = ShimPhase::kExited;
      held.state.exit_code = WIFSIGNALED(*status) ? 128 + WTERMSIG(*status) : WEXITSTATUS(*status);
      if (WIFSIGNALED(*status)) held.state.signal = WTERMSIG(*status);
      held.state.finished_at = os::FormatTime(os::SystemClock().Wall());
    }
    notices_.push_back({.reason = "SupervisorReplaced",
                        .pod_uid = held.request.pod_uid,
                        .message = "container " + held.request.container + ": its supervisor, process " +
                                   std::to_string(held.state.shim_pid) +
                                   ", did not answer after the container had ended, and was killed"});
    news_.Signal();
  }
  static_cast<void>(os::SendSignal(held.shim.get(), SIGKILL).has_value());  // its end is waited for as any other
  held.silent_since.reset();
}

// A watched handle became readable: takes over what happened.
void ProcessRuntime::Refresh(Held& held, std::uint64_t token) {
  if (token == held.main_token) return MainEnded(held);
  Unwatch(held);
  const bool shim_ended = held.shim.valid() && os::HasEnded(held.shim.get());
  if (shim_ended) {
    os::Reap(held.shim.get());
    held.shim.reset();
    Result<ShimState> state = launcher_->ReadState(held.request.id);
    if (state && state->phase == ShimPhase::kRunning && held.state.phase == ShimPhase::kExited)
      static_cast<void>(launcher_->WriteState(held.request.id, held.state).has_value());  // for the next berthd
    else if (state)
      held.state = *std::move(state);
  }
  held.silent_since.reset();
  const bool main_lives = held.main.valid() && !os::HasEnded(held.main.get());
  if (held.state.phase == ShimPhase::kExited) {
    held.main.reset();
  } else if (!held.shim.valid() && main_lives) {
    held.state.warnings.push_back("its supervisor has ended: output is not logged, the exit code will be unknown");
    watched_.Remove(held.main.get());
    Watch(held);
  } else if (!held.shim.valid()) {
    Lose(held, "its supervisor ended before it: exit code unknown");
  }
}

// ---- start ----

Result<ContainerStatus> ProcessRuntime::Start(const StartRequest& request) {
  BERTH_RETURN_IF_ERROR(CheckRequest(request));
  Held held;
  held.request = MakeShimRequest(request, MakeId(request));
  held.creating = true;
  const std::string id = held.request.id;
  if (id.size() > kMaxId)
    return Fail(Code::kInvalid, "start container " + request.container.name + " of pod " + request.pod_namespace + "/" +
                                    request.pod_name + ": pod uid and container name are too long");
  loop::Submit<Launched>(
      options_.executor, "start/" + request.pod_uid,
      [launcher = launcher_, request = held.request] { return launcher->Launch(request); },
      [this, alive = std::weak_ptr(alive_), id](Result<Launched> launched) {
        if (!alive.expired()) Started(id, std::move(launched));
      });
  held.status = StatusOf(held);
  return held_.insert_or_assign(id, std::move(held)).first->second.status;
}

void ProcessRuntime::Started(const std::string& id, Result<Launched> launched) {
  Held& held = held_.find(id)->second;  // nobody forgets one that is being started
  held.creating = false;
  news_.Signal();
  if (!launched) {
    ContainerStatus status = held.status;
    status.state = ContainerState::kNotStarted;
    status.reason = kNotStartedReason;
    status.message = std::move(launched).error().message;
    started_.push_back(std::move(status));
    held_.erase(id);
    return;
  }
  held.state = std::move(launched->state);
  held.shim = std::move(launched->shim);
  held.main = std::move(launched->main);
  if (held.pending_signal != 0 && held.main.valid())
    static_cast<void>(os::SendSignal(held.main.get(), held.pending_signal).has_value());  // asked again if it lives
  Watch(held);
  held.status = StatusOf(held);
  started_.push_back(held.status);
}

void ProcessRuntime::Adopt(Held held) {
  const std::string id = held.request.id;
  Watch(held_.insert_or_assign(id, std::move(held)).first->second);
}

// ---- recovery ----

// Waits until a supervisor found in the middle of its start has got further or ended. False: nothing was started.
bool ProcessRuntime::Settle(const std::string& id, Held& held) {
  const os::MonoTime end = os::SystemClock().Now() + kSettleLimit;
  while (held.state.phase == ShimPhase::kReady || held.state.phase == ShimPhase::kStarting) {
    const bool ended = !held.shim.valid() || os::WaitEnd(held.shim.get(), kSettleStep);
    if (Result<ShimState> state = launcher_->ReadState(id); state) held.state = *std::move(state);
    if (ended) break;
    if (os::SystemClock().Now() < end) continue;
    static_cast<void>(os::SendSignal(held.shim.get(), SIGKILL).has_value());
    os::WaitEnd(held.shim.get(), kSettleLimit);
    held.state.phase = ShimPhase::kStarting;  // how far it got is not known
    break;
  }
  if (held.state.phase == ShimPhase::kReady || held.state.phase == ShimPhase::kFailed) return false;
  if (held.state.phase == ShimPhase::kStarting) Lose(held, "its supervisor ended while it was started");
  return true;
}

// The group of supervisors may be another one than when this one started. One that ends meanwhile is not missed.
void ProcessRuntime::Rehome(int shim) {
  auto root = os::OpenFs("/");
  if (!root) return;
  for (const std::string& dir : options_.shim_cgroup.dirs)
    static_cast<void>((*root)->Write(dir + "/cgroup.procs", std::to_string(shim)).has_value());
}

// An error means that it cannot be told what became of the container: its record stays as it is.
Result<void> ProcessRuntime::RecoverOne(const std::string& id) {
  Held held;
  const Result<std::string> text = launcher_->fs().Read(Launcher::DirOf(id) + "/" + std::string(kRequestFile));
  if (!text && !IsGone(text.error())) return std::unexpected(text.error());
  Result<ShimRequest> request = text ? ParseRequest(*text) : std::unexpected(text.error());
  BERTH_TRY(const bool has_state, launcher_->fs().Exists(Launcher::DirOf(id) + "/" + std::string(kStateFile)));
  // Without a readable request nothing was started, and without a state its supervisor never got the word to go: its
  // socket ended with the daemon that made it.
  if (!request || request->id != id || !has_state) {
    static_cast<void>(launcher_->RemoveRecord(id).has_value());  // tried again at the next opening
    return {};
  }
  held.request = *std::move(request);
  Result<ShimState> state = launcher_->ReadState(id);
  if (!state && !IsGone(state.error())) return std::unexpected(std::move(state).error());
  if (!state) {
    Lose(held, state.error().message);
  } else {
    held.state = *std::move(state);
    const bool this_boot = held.state.boot_id == os::BootId();
    if (this_boot) {
      BERTH_TRY(held.shim, FindProcess(held.state.shim_pid, held.state.shim_start, {}));
      if (held.shim.valid()) Rehome(held.state.shim_pid);
    }
    if (!Settle(id, held)) {
      static_cast<void>(launcher_->RemoveRecord(id).has_value());
      return {};
    }
    if (held.state.phase == ShimPhase::kRunning) BERTH_RETURN_IF_ERROR(RecoverRunning(held, this_boot));
  }
  held.status = StatusOf(held);
  Adopt(std::move(held));
  return {};
}

// Finds the process of a container that ran when its record was written last.
Result<void> ProcessRuntime::RecoverRunning(Held& held, bool this_boot) {
  if (this_boot) {
    BERTH_TRY(held.main, FindProcess(held.state.pid, held.state.start, held.state.cgroups));
  }
  if (!held.shim.valid()) {  // it may have recorded the end and gone between the two looks
    Result<ShimState> last = launcher_->ReadState(held.request.id);
    if (!last && !IsGone(last.error())) return std::unexpected(std::move(last).error());
    if (last) held.state = *std::move(last);
  }
  if (held.state.phase == ShimPhase::kRunning && !held.shim.valid() && !held.main.valid())
    Lose(held,
         this_boot ? "it ended without a supervisor: exit code unknown" : "the host was restarted: exit code unknown");
  return {};
}

Result<void> ProcessRuntime::Recover() {
  BERTH_TRY(const std::vector<std::string> ids, launcher_->fs().List(Launcher::kContainers));
  for (const std::string& id : ids)
    if (Result<void> done = RecoverOne(id); !done)
      return Wrap(std::move(done).error(), "find container " + id + " again");
  return {};
}

// ---- the rest of the interface ----

Result<void> ProcessRuntime::Signal(std::string_view id, int signal) {
  const auto it = held_.find(id);
  if (it == held_.end()) return Fail(Code::kNotFound, "there is no container " + Printable(id));
  if (it->second.creating && it->second.pending_signal != SIGKILL) it->second.pending_signal = signal;
  if (!it->second.main.valid()) return {};
  if (Result<void> sent = os::SendSignal(it->second.main.get(), signal); !sent)
    return Wrap(std::move(sent).error(), "container " + it->first);
  return {};
}

void ProcessRuntime::Kill(std::string_view id) {
  static_cast<void>(Signal(id, SIGKILL).has_value());  // asked again until it is seen to have ended
}

Result<std::vector<ContainerStatus>> ProcessRuntime::List() {
  std::vector<ContainerStatus> out;
  for (const auto& [id, held] : held_) out.push_back(StatusOf(held));
  return out;
}

std::vector<ContainerStatus> ProcessRuntime::Poll() {
  news_.Clear();
  std::vector<ContainerStatus> out = std::exchange(started_, {});
  for (const std::uint64_t token : watched_.Ready()) {
    if (token == kTimerToken) LookAtSilent();
    const auto name = by_token_.find(token);
    const auto it = name == by_token_.end() ? held_.end() : held_.find(name->second);
    if (it == held_.end()) continue;
    Refresh(it->second, token);
    ContainerStatus status = StatusOf(it->second);
    if (status == it->second.status) continue;  // a refused container was reported by Start
    it->second.status = status;
    out.push_back(std::move(status));
  }
  return out;
}

Result<void> ProcessRuntime::Forget(std::string_view id) {
  const auto it = held_.find(id);
  if (it == held_.end()) return {};
  Held& held = it->second;
  if (held.creating || held.state.phase == ShimPhase::kRunning)
    return Fail(Code::kConflict, "container " + it->first + " runs: it cannot be forgotten");
  // The end is recorded: the supervisor is about to go.
  loop::Submit<void>(
      options_.executor, "start/" + held.request.pod_uid,
      [launcher = launcher_, id = it->first, shim = std::move(held.shim)] {
        return launcher->RemoveRecordOf(id, shim);
      },
      [this, alive = std::weak_ptr(alive_), uid = held.request.pod_uid](const Result<void>& removed) {
        if (!alive.expired()) Forgotten(uid, removed);
      });
  Unwatch(held);
  held_.erase(it);
  return {};
}

/// A record that stays is looked at again when the runtime is opened next.
void ProcessRuntime::Forgotten(const std::string& pod_uid, const Result<void>& removed) {
  if (removed) return;
  notices_.push_back({.pod_uid = pod_uid, .message = removed.error().message});
  news_.Signal();
}

}  // namespace

Result<std::unique_ptr<Runtime>> OpenProcessRuntime(const ProcessRuntimeOptions& options) {
  if (!options.run_dir.starts_with('/') || !options.shim_path.starts_with('/'))
    return Fail(Code::kInvalid, "the run directory and the path of berth-shim must be absolute");
  BERTH_TRY(auto root, os::OpenFs("/"));
  BERTH_TRY(const bool has_shim, root->Exists(options.shim_path));
  if (!has_shim)
    return Fail(Code::kNotFound, "the supervisor program " + options.shim_path + " is missing: install berth-shim");
  BERTH_RETURN_IF_ERROR(os::MakeDirs(options.run_dir, 0700));
  BERTH_RETURN_IF_ERROR(os::MakeDirs(options.run_dir + "/" + std::string(Launcher::kContainers), 0700));
  BERTH_TRY(os::LockFile lock, os::LockFile::Take(options.run_dir + "/lock", kSettleLimit));
  BERTH_TRY(auto fs, os::OpenFs(options.run_dir));
  BERTH_TRY(auto watched, os::PidfdSet::Open());
  BERTH_TRY(os::EventFd news, os::EventFd::Open());
  BERTH_RETURN_IF_ERROR(watched.Add(news.get(), kNewsToken));
  BERTH_TRY(os::TimerFd timer, os::TimerFd::Open());
  BERTH_RETURN_IF_ERROR(watched.Add(timer.get(), kTimerToken));
  auto runtime = std::make_unique<ProcessRuntime>(options, std::move(lock), std::move(fs), std::move(watched),
                                                  std::move(news), std::move(timer));
  BERTH_RETURN_IF_ERROR(runtime->Recover());
  return runtime;
}

}  // namespace berth::runtime
