// Work that may wait (a disk, D-Bus, a tree of files, processes that die slowly), done away from the loop's thread.
#ifndef BERTH_HOST_EVENT_LOOP_EXECUTOR_H_
#define BERTH_HOST_EVENT_LOOP_EXECUTOR_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "base/loop_thread.h"
#include "base/result.h"

namespace berth::event_loop {

/// Runs jobs on other threads and hands their ends back to the loop's.
///
/// Ownership: a job owns what it works on, or works on something made for several threads; it never sees what the
/// loop's thread owns. Thread: Run is called on the loop's thread only.
class Executor {
 public:
  using Job = std::move_only_function<void()>;

  virtual ~Executor() = default;

  /// Runs `job` on another thread, and `then` on the loop's thread when the job is over: never within this call.
  /// Jobs of one `queue` run one after another, in the order they were given, and so do their ends; those of different
  /// queues run beside each other. Jobs not begun when the executor goes are dropped, and no `then` comes any more.
  virtual void Run(const std::string& queue, Job job, Job then) = 0;
};

/// The same for a job with an answer: `then(Result<T>)`.
template <class T, class JobFunction, class ThenFunction>
void Submit(Executor& executor, const std::string& queue, JobFunction job, ThenFunction then) {
  auto answer = std::make_shared<Result<T>>(Fail(Code::kInternal, "the job was not run"));
  executor.Run(
      queue, [answer, job = std::move(job)]() mutable { *answer = job(); },
      [answer, then = std::move(then)]() BERTH_REQUIRES(loop_thread) mutable { then(std::move(*answer)); });
}

}  // namespace berth::event_loop

#endif  // BERTH_HOST_EVENT_LOOP_EXECUTOR_H_
