#include "runtime/process/process_runtime.h"

#include <fcntl.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "host/event_loop/task_scope.h"
#include "host/os/event_fd.h"
#include "host/os/fs.h"
#include "host/os/lock_file.h"
#include "host/os/pidfd.h"
#include "host/os/timer_fd.h"
#include "runtime/lifecycle/device_grants.h"
#include "runtime/process/exec.h"
#include "runtime/process/find_again.h"
#include "runtime/process/held.h"
#include "runtime/process/launcher.h"
#include "runtime/process/record.h"
#include "runtime/process/silent_supervisor.h"

namespace berth::runtime {
namespace {

constexpr std::string_view kNotStartedReason = "CreateContainerError";
constexpr std::uint64_t kNewsToken = 0;   // of the descriptor that tells of starts
constexpr std::uint64_t kTimerToken = 1;  // of the timer for supervisors that are silent

class ProcessRuntime final : public Runtime {
 public:
  ProcessRuntime(ProcessRuntimeOptions options, os::LockFile lock, std::unique_ptr<os::Fs> fs, os::PidfdSet watched,
                 os::EventFd news, os::TimerFd timer)
      : options_(std::move(options)),
        lock_(std::move(lock)),
        launcher_(std::make_shared<Launcher>(LauncherOptions{.run_dir = options_.run_dir,
                                                             .shim_path = options_.shim_path,
                                                             .shim_cgroup = options_.shim_cgroup,
                                                             .start_deadline = options_.start_deadline,
                                                             .seccomp = options_.seccomp},
                                             std::move(fs))),
        watched_(std::move(watched)),
        news_(std::move(news)),
        timer_(std::move(timer)) {}

  /// Takes over what earlier runtimes left in the directory.
  Result<void> Recover();

  Result<ContainerStatus> Start(const StartRequest& request) override;
  Result<void> Signal(std::string_view id, int signal) override;
  void Kill(std::string_view id) override;
  Result<ExecJob> PrepareExec(std::string_view id, const std::vector<std::string>& command) override;
  Result<std::vector<ContainerStatus>> List() override;
  int event_fd() const override { return watched_.fd(); }
  std::vector<ContainerStatus> Poll() override;
  Result<void> Forget(std::string_view id) override;
  std::vector<Notice> TakeNotices() override { return std::exchange(notices_, {}); }

 private:
  void Started(const std::string& id, Result<Launched> launched);
  void Forgotten(const std::string& pod_uid, const Result<void>& removed);
  void Refresh(Held& held, std::uint64_t token);
  void MainEnded(Held& held);
  void LookAtSilentOnes();
  bool WatchOne(Held& held, int fd, std::uint64_t& token);
  void Watch(Held& held);
  void Unwatch(Held& held);

  ProcessRuntimeOptions options_;
  os::LockFile lock_;
  std::shared_ptr<Launcher> launcher_;  // also of jobs under way
  event_loop::TaskScope tasks_{options_.executor};
  os::PidfdSet watched_;
  os::EventFd news_;                      // there are some of these
  os::TimerFd timer_;                     // for those with silent_since
  std::vector<ContainerStatus> started_;  // what came of starts
  std::vector<Notice> notices_;
  std::map<std::string, Held, std::less<>> held_;
  std::map<std::uint64_t, std::string> by_token_;
  std::uint64_t next_token_ = kTimerToken + 1;
};

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
  LookAtSilentOnes();
}

// Sets the timer for the first of them, after doing what is due.
void ProcessRuntime::LookAtSilentOnes() {
  const os::MonoTime now = os::SystemClock().Now();
  std::optional<os::MonoTime> next;
  for (auto& [id, held] : held_) {
    if (!NextLook(held)) continue;
    if (auto notice = LookAtSilent(held, *launcher_, now)) {
      notices_.push_back(*std::move(notice));
      news_.Signal();
    }
    if (const auto due = NextLook(held)) next = std::min(next.value_or(*due), *due);
  }
  if (next)
    timer_.Set(*next);
  else
    timer_.Clear();
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
  tasks_.Submit<Launched>(
      "start/" + request.pod_uid,
      [launcher = launcher_, request = held.request, nodes = request.devices.device_nodes]() -> Result<Launched> {
        BERTH_RETURN_IF_ERROR(CheckThere(nodes));
        return launcher->Launch(request);
      },
      [this, id](Result<Launched> launched) { Started(id, std::move(launched)); });
  DropWords(held.request);
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

Result<void> ProcessRuntime::Recover() {
  BERTH_TRY(std::vector<Held> found, FindAgain(*launcher_, options_.shim_cgroup));
  for (Held& held : found) {
    const std::string id = held.request.id;
    Watch(held_.insert_or_assign(id, std::move(held)).first->second);
  }
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

Result<ExecJob> ProcessRuntime::PrepareExec(std::string_view id, const std::vector<std::string>& command) {
  const auto it = held_.find(id);
  if (it == held_.end() || !it->second.main.valid()) return Fail(Code::kNotFound, "the container does not run");
  const Held& held = it->second;
  os::UniqueFd main(::fcntl(held.main.get(), F_DUPFD_CLOEXEC, 0));
  if (!main.valid()) return FailErrno("duplicate a descriptor", "", errno);
  return [launcher = launcher_, id = it->first, pid = held.state.pid, main = std::move(main), command](
             os::Millis limit, int cancel_fd) -> Result<ExecEnd> {
    BERTH_TRY(const ShimRequest request, launcher->ReadRequest(id));
    return ExecInside(request, pid, main, command, limit, cancel_fd);
  };
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
    if (token == kTimerToken) LookAtSilentOnes();
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
  tasks_.Submit<void>(
      "start/" + held.request.pod_uid,
      [launcher = launcher_, id = it->first, shim = std::move(held.shim)] {
        return launcher->RemoveRecordOf(id, shim);
      },
      [this, uid = held.request.pod_uid](const Result<void>& removed) { Forgotten(uid, removed); });
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
  BERTH_TRY(os::LockFile lock, os::LockFile::Take(options.run_dir + "/lock", Launcher::kSettleLimit));
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
