// How other threads talk to the loop: they leave a piece of work and wait for its answer.
#ifndef BERTH_DAEMON_MAILBOX_H_
#define BERTH_DAEMON_MAILBOX_H_

#include <functional>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "os/event_fd.h"

namespace berth::daemon {

/// Thread: Ask from any thread but the loop's; RunAll and Close from the loop's only.
class Mailbox {
 public:
  /// Errors: as eventfd(2).
  static Result<std::unique_ptr<Mailbox>> Open();

  /// Readable when RunAll has work.
  int fd() const { return fd_.get(); }

  /// Runs `work` on the loop's thread and returns what it returned. Errors: kCancelled when berthd is stopping.
  template <class T>
  Result<T> Ask(std::function<Result<T>()> work) {
    Result<T> answer = Fail(Code::kCancelled, "berthd is stopping");
    Run([&] { answer = work(); });
    return answer;
  }

  /// Does all that was left so far.
  void RunAll() BERTH_EXCLUDES(mutex_);
  /// From now on every Ask, also one that waits, returns at once.
  void Close() BERTH_EXCLUDES(mutex_);

 private:
  struct Letter {
    std::function<void()> work;
    bool done = false;  ///< guarded by the mailbox's mutex
  };

  explicit Mailbox(os::EventFd fd) : fd_(std::move(fd)) {}
  /// Returns when `work` has run, or never will.
  void Run(std::function<void()> work) BERTH_EXCLUDES(mutex_);

  os::EventFd fd_;
  Mutex mutex_;
  CondVar answered_;
  std::vector<std::shared_ptr<Letter>> letters_ BERTH_GUARDED_BY(mutex_);
  bool closed_ BERTH_GUARDED_BY(mutex_) = false;
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_MAILBOX_H_
