// Events of an inotify descriptor, one at a time: for the watches of this component.
#ifndef BERTH_HOST_OS_INOTIFY_H_
#define BERTH_HOST_OS_INOTIFY_H_

#include <sys/inotify.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

namespace berth::os {

/// Calls `each(event, name)` for all that there is; `name` only where event.len > 0. Requires: `fd` does not block.
template <class F>
void ForEachEvent(int fd, const F& each) {
  alignas(inotify_event) char buffer[16 * 1024];
  for (;;) {
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    for (std::size_t at = 0; at + sizeof(inotify_event) <= static_cast<std::size_t>(n);) {
      inotify_event event;
      std::memcpy(&event, buffer + at, sizeof event);
      const char* const name = buffer + at + sizeof event;
      at += sizeof event + event.len;
      each(event, name);
    }
  }
}

}  // namespace berth::os

#endif  // BERTH_HOST_OS_INOTIFY_H_
