#include "rpc/grpc/waiting.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "host/os/poll.h"

namespace berth::grpc {

Result<void> WaitFor(const os::EventFd& event, const Patience& patience) {
  for (;;) {
    const os::MonoTime now = os::SystemClock().Now();
    if (patience.deadline && now >= *patience.deadline) return Fail(Code::kTimeout, "no answer in time");
    const bool firm = now < patience.give_up_from;
    std::optional<os::MonoTime> end = patience.deadline;
    if (firm) end = std::min(end.value_or(patience.give_up_from), patience.give_up_from);
    std::array<pollfd, 3> fds{pollfd{.fd = event.get(), .events = POLLIN, .revents = 0},
                              pollfd{.fd = firm ? -1 : patience.cancel_fd, .events = POLLIN, .revents = 0},
                              pollfd{.fd = firm ? -1 : patience.caller_fd, .events = 0, .revents = 0}};
    const int n = ::poll(fds.data(), fds.size(), os::PollTime(now, end));
    if (n < 0 && errno != EINTR)
      return Fail(Code::kUncertain, FailErrno("wait for an answer", "", errno).error().message);
    if (n <= 0) continue;
    if (fds[0].revents != 0) return {};
    if (fds[1].revents != 0) return Fail(Code::kCancelled, "given up");
    return Fail(Code::kCancelled, "given up: whoever asked for it is gone");
  }
}

bool IsUnwanted(const Patience& patience) {
  std::array<pollfd, 2> fds{pollfd{.fd = patience.cancel_fd, .events = POLLIN, .revents = 0},
                            pollfd{.fd = patience.caller_fd, .events = 0, .revents = 0}};
  return ::poll(fds.data(), fds.size(), 0) > 0;
}

}  // namespace berth::grpc
