// A command in the foreground of a terminal: made, held back until its place is ready, executed, and attended to its
// end.
#ifndef BERTH_HOST_OS_FOREGROUND_H_
#define BERTH_HOST_OS_FOREGROUND_H_

#include <sys/types.h>

#include <csignal>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/os/clock.h"
#include "host/os/unique_fd.h"

namespace berth::os {

/// Holds back SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 and SIGCHLD of the calling thread, so that Asked and Attend see
/// them, until the end of the object; then what was held back before is held back. One may live inside another.
class HeldSignals {
 public:
  HeldSignals();
  ~HeldSignals();
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  /// Waits for a signal that asks us to end (INT, TERM, HUP), for at most `time`; its number. nullopt: none came.
  std::optional<int> Asked(Millis time) const;

 private:
  sigset_t before_{};
};

/// Our child, in our session and process group, with our terminal, descriptors, environment, folder and user.
/// Requires: a HeldSignals lives as long as this does; the process has one thread at Start. Thread: that of
/// HeldSignals.
class ForegroundChild {
 public:
  /// Forks. The child waits for Open, and ends if this object ends first. Requires: argv is not empty.
  /// Errors: as fork(2) and pipe(2).
  static Result<ForegroundChild> Start(const std::vector<std::string>& argv);
  ForegroundChild(ForegroundChild&& other) noexcept;
  ForegroundChild& operator=(ForegroundChild&&) = delete;
  ~ForegroundChild();

  int pid() const { return pid_; }
  std::uint64_t start_ticks() const { return start_ticks_; }

  /// Lets it execute its program (looked up in PATH), on every CPU its cpuset allows, and waits until it does.
  /// Errors: kNotFound and kPermission as execvp(3); it has ended then.
  Result<void> Open();
  /// Waits for its end. Signals to us are passed on, but for those that the terminal sent to it as well. Gives its exit
  /// status; 128 + signal when one killed it. Requires: Open succeeded.
  int Attend();

 private:
  ForegroundChild(std::string program, int pid, UniqueFd gate, UniqueFd word)
      : program_(std::move(program)), pid_(pid), gate_(std::move(gate)), word_(std::move(word)) {}
  int Reaped();

  std::string program_;
  pid_t pid_ = 0;  // 0: reaped
  std::uint64_t start_ticks_ = 0;
  UniqueFd gate_;  // one byte lets it go on, the end of it ends it
  UniqueFd word_;  // errno of its exec; closed by it
};

}  // namespace berth::os

#endif  // BERTH_HOST_OS_FOREGROUND_H_
