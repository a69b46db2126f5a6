// Handles of processes that cannot hit another process, and what /proc says about a process.
#ifndef BERTH_HOST_OS_PIDFD_H_
#define BERTH_HOST_OS_PIDFD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "host/os/clock.h"
#include "host/os/unique_fd.h"

namespace berth::os {

/// Start of process `pid` in clock ticks since boot (field 22 of /proc/PID/stat): with the pid and the boot it names
/// one process for ever. Errors: kNotFound when there is no such process.
Result<std::uint64_t> StartTicksOf(int pid);

/// Number in field `field` (as proc(5) counts, at least 4) of the text of /proc/PID/stat, whatever the program's name
/// holds; nullopt when there is none.
std::optional<std::uint64_t> StatField(std::string_view stat, std::size_t field);

/// Field 22 of the text of /proc/PID/stat, whatever the program's name holds. Errors: kCorrupt.
Result<std::uint64_t> ParseStartTicks(std::string_view stat);

/// How process `pid`, started at `start_ticks`, ended, while its parent has not reaped it: wait status as of
/// waitpid(2). nullopt: it has not ended, or is gone, or the kernel does not tell us (it tells root).
std::optional<int> UnreapedStatus(int pid, std::uint64_t start_ticks);

/// State of the process, the letter of /proc/PID/stat (proc(5)): 'R', 'S', 'D', 'T', 'Z'...; '?' when it is gone.
char StateOf(int pid);

/// SIGKILL is among the pending signals, those of the thread or of the process, in the text of /proc/PID/status.
bool HasPendingKill(std::string_view status);

/// SIGKILL was sent to the process and has not ended it yet: it waits in the kernel, or is frozen. Gone: false.
bool SurvivesKill(int pid);

/// True while somebody keeps the process stopped (SIGSTOP, a debugger).
bool IsStopped(int pid);

/// Memory of the process that is in RAM. Errors: kNotFound when there is no such process; kCorrupt.
Result<Bytes> ResidentMemoryOf(int pid);

/// Lines of /proc/PID/cgroup, "hierarchy:controllers:path". Errors: kNotFound when there is no such process.
Result<std::vector<std::string>> CgroupLinesOf(int pid);

/// This boot's id, as the kernel prints it; "" when unknown.
std::string BootId();

/// A handle of process `pid` if that is still the one started at `start_ticks`.
/// Errors: kNotFound when it is gone or the pid belongs to another process by now.
Result<UniqueFd> OpenPidfd(int pid, std::uint64_t start_ticks);

/// Signals the process behind the handle; ended already: success.
Result<void> SendSignal(int pidfd, int signal);

/// True once the process has ended (also before it was reaped).
bool HasEnded(int pidfd);

/// Waits until the process has ended, at most `limit`; true if it has.
bool WaitEnd(int pidfd, Millis limit);

/// Takes the exit status from the kernel if the process is our ended child; else nothing happens.
void Reap(int pidfd);

/// Which of many handles are readable. Level-triggered.
class PidfdSet {
 public:
  static Result<PidfdSet> Open();
  int fd() const { return epoll_.get(); }  ///< readable while Ready() is not empty
  /// `token` is what Ready returns for it. Closing the last copy of `pidfd` removes it.
  Result<void> Add(int pidfd, std::uint64_t token);
  void Remove(int pidfd);
  std::vector<std::uint64_t> Ready();  ///< does not block

 private:
  explicit PidfdSet(UniqueFd epoll) : epoll_(std::move(epoll)) {}
  UniqueFd epoll_;
};

}  // namespace berth::os

#endif  // BERTH_HOST_OS_PIDFD_H_
