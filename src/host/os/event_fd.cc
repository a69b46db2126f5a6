#include "host/os/event_fd.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace berth::os {

Result<EventFd> EventFd::Open() {
  UniqueFd fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd.valid()) return FailErrno("create an eventfd", "", errno);
  return EventFd(std::move(fd));
}

void EventFd::Signal() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(fd_.get(), &one, sizeof one);
}

void EventFd::Clear() const {
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(fd_.get(), &count, sizeof count);
}

}  // namespace berth::os
