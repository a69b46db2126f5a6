#include "host/os/poll.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace berth::os {

int PollTime(MonoTime now, std::optional<MonoTime> deadline) {
  if (!deadline) return -1;
  return static_cast<int>(std::clamp<Millis::rep>(std::chrono::ceil<Millis>(*deadline - now).count(), 0, 60'000));
}

Result<bool> WaitFor(int fd, short events, std::optional<MonoTime> deadline) {
  for (;;) {
    pollfd entry{.fd = fd, .events = events, .revents = 0};
    const int n = ::poll(&entry, 1, PollTime(SystemClock().Now(), deadline));
    if (n > 0) return true;
    if (n < 0 && errno != EINTR) return FailErrno("wait for a descriptor", "", errno);
    if (deadline && SystemClock().Now() >= *deadline) return false;
  }
}

}  // namespace berth::os
