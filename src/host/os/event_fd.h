// A descriptor that one thread makes readable to wake another one.
#ifndef BERTH_HOST_OS_EVENT_FD_H_
#define BERTH_HOST_OS_EVENT_FD_H_

#include "base/result.h"
#include "host/os/unique_fd.h"

namespace berth::os {

/// Thread: any; the object itself never changes. See eventfd(2).
class EventFd {
 public:
  /// Not readable, never blocks. Errors: as eventfd(2).
  static Result<EventFd> Open();

  int get() const { return fd_.get(); }
  /// Makes it readable until Clear. Cannot fail: it is readable already when its counter is full.
  void Signal() const;
  void Clear() const;

 private:
  explicit EventFd(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace berth::os

#endif  // BERTH_HOST_OS_EVENT_FD_H_
