// A descriptor that becomes readable when a time has come.
#ifndef BERTH_HOST_OS_TIMER_FD_H_
#define BERTH_HOST_OS_TIMER_FD_H_

#include "base/result.h"
#include "host/os/clock.h"
#include "host/os/unique_fd.h"

namespace berth::os {

/// See timerfd_create(2), CLOCK_MONOTONIC. Thread: one at a time.
class TimerFd {
 public:
  /// Not running. Errors: as timerfd_create(2).
  static Result<TimerFd> Open();

  int get() const { return fd_.get(); }
  /// Readable from `time` on; asked for before: `time` counts from here on.
  void Set(MonoTime time);
  /// Not readable any more, and not running.
  void Clear();

 private:
  explicit TimerFd(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace berth::os

#endif  // BERTH_HOST_OS_TIMER_FD_H_
