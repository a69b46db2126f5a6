// Cross-thread queue of the HTTP server: answers, wake-ups and the stop request from other threads. Internal to this
// folder.
#ifndef BERTH_RPC_HTTP_MAIL_H_
#define BERTH_RPC_HTTP_MAIL_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "host/os/event_fd.h"
#include "rpc/http/call.h"

namespace berth::http {

/// Thread: any. Lives as long as somebody may tell something.
class Mail {
 public:
  struct Letters {
    std::vector<std::pair<std::uint64_t, Answer>> answers;
    std::vector<std::uint64_t> wakes;
    bool stop = false;
  };
  explicit Mail(os::EventFd fd) : fd_(std::move(fd)) {}

  int fd() const { return fd_.get(); }
  template <class Change>
  void Post(Change change) BERTH_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    change(letters_);
    fd_.Signal();
  }
  Letters Take() BERTH_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    fd_.Clear();
    return std::exchange(letters_, {});
  }

 private:
  os::EventFd fd_;
  Mutex mutex_;
  Letters letters_ BERTH_GUARDED_BY(mutex_);
};

}  // namespace berth::http

#endif  // BERTH_RPC_HTTP_MAIL_H_
