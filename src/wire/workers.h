// Threads for the handlers of a server: they come with the calls and go when there is nothing to do for a while.
// Internal.
#ifndef BERTH_WIRE_WORKERS_H_
#define BERTH_WIRE_WORKERS_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <thread>

#include "base/mutex.h"

namespace berth::wire {

/// Thread: any.
class Workers {
 public:
  /// At most `most` jobs at a time.
  explicit Workers(std::size_t most) : most_(most) {}
  /// Waits for all jobs.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Runs `job` at once on a thread. False: so many run already, or there is no thread to be had; it is not run.
  bool Post(std::function<void()> job) BERTH_EXCLUDES(mutex_);

 private:
  using Threads = std::list<std::thread>;
  void Work(Threads::iterator self) BERTH_EXCLUDES(mutex_);
  bool TakeJob(std::function<void()>& job) BERTH_EXCLUDES(mutex_);
  bool StartThread() BERTH_REQUIRES(mutex_);

  const std::size_t most_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<std::function<void()>> jobs_ BERTH_GUARDED_BY(mutex_);
  std::size_t busy_ BERTH_GUARDED_BY(mutex_) = 0;  // jobs that wait or run
  std::size_t idle_ BERTH_GUARDED_BY(mutex_) = 0;
  Threads threads_ BERTH_GUARDED_BY(mutex_);
  Threads ended_ BERTH_GUARDED_BY(mutex_);  // to be joined
  bool stop_ BERTH_GUARDED_BY(mutex_) = false;
};

}  // namespace berth::wire

#endif  // BERTH_WIRE_WORKERS_H_
