#include "host/os/timer_fd.h"

#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <utility>

namespace berth::os {

Result<TimerFd> TimerFd::Open() {
  UniqueFd fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!fd.valid()) return FailErrno("create a timer", "", errno);
  return TimerFd(std::move(fd));
}

void TimerFd::Set(MonoTime time) {
  const auto since_boot = std::max(time.time_since_epoch(), MonoTime::duration(1));  // zero would stop it
  const auto seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
  itimerspec when{};
  when.it_value = {.tv_sec = static_cast<time_t>(seconds.count()),
                   .tv_nsec = static_cast<long>((since_boot - seconds).count())};
  ::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void TimerFd::Clear() {
  const itimerspec off{};
  ::timerfd_settime(fd_.get(), 0, &off, nullptr);
}

}  // namespace berth::os
