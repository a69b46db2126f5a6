#include "runtime/process/silent_supervisor.h"

#include <signal.h>
#include <sys/wait.h>

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "host/os/pidfd.h"
#include "runtime/process/record.h"

namespace berth::runtime {
namespace {

// A supervisor whose container's process has ended records that at once. One that does not is told to go on after the
// first time, and done without after the second.
constexpr os::Millis kSilence{2'000};
constexpr os::Millis kLongestSilence{10'000};

Notice AboutSupervisor(const Held& held, std::string reason, std::string_view what) {
  return {.reason = std::move(reason),
          .pod_uid = held.request.pod_uid,
          .message = "container " + held.request.container + ": its supervisor, process " +
                     std::to_string(held.state.shim_pid) + ", " + std::string(what)};
}

std::optional<Notice> Rouse(Held& held) {
  held.roused = true;
  if (!os::IsStopped(held.state.shim_pid)) return std::nullopt;  // a disk that is slow or full, perhaps
  static_cast<void>(os::SendSignal(held.shim.get(), SIGCONT).has_value());
  return AboutSupervisor(held, "SupervisorStopped", "was stopped by somebody; it was told to go on");
}

// What the kernel keeps of the process goes with the supervisor.
std::optional<Notice> DoWithout(Held& held, Launcher& launcher) {
  if (Result<ShimState> state = launcher.ReadState(held.request.id); state) held.state = *std::move(state);
  const bool unrecorded = held.state.phase == ShimPhase::kRunning;
  if (unrecorded) {
    if (const auto status = os::UnreapedStatus(held.state.pid, held.state.start)) {
      held.state.phase = ShimPhase::kExited;
      held.state.exit_code = WIFSIGNALED(*status) ? 128 + WTERMSIG(*status) : WEXITSTATUS(*status);
      if (WIFSIGNALED(*status)) held.state.signal = WTERMSIG(*status);
      held.state.finished_at = os::FormatTime(os::SystemClock().Wall());
    }
  }
  static_cast<void>(os::SendSignal(held.shim.get(), SIGKILL).has_value());
  held.silent_since.reset();
  if (!unrecorded) return std::nullopt;
  return AboutSupervisor(held, "SupervisorReplaced", "did not answer after the container had ended, and was killed");
}

}  // namespace

std::optional<os::MonoTime> NextLook(const Held& held) {
  if (!held.silent_since || !held.shim.valid()) return std::nullopt;
  return *held.silent_since + (held.roused ? kLongestSilence : kSilence);
}

std::optional<Notice> LookAtSilent(Held& held, Launcher& launcher, os::MonoTime now) {
  const auto silence = now - *held.silent_since;
  if (silence >= kLongestSilence) return DoWithout(held, launcher);
  if (held.roused || silence < kSilence) return std::nullopt;
  return Rouse(held);
}

}  // namespace berth::runtime
