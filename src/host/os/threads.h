// Thread pool: threads that come when there is work and go when there is none for a while.
#ifndef BERTH_HOST_OS_THREADS_H_
#define BERTH_HOST_OS_THREADS_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <thread>

#include "base/mutex.h"
#include "host/os/clock.h"

namespace berth::os {

struct ThreadsOptions {
  std::size_t most = 8;   ///< jobs at a time
  std::size_t stay = 0;   ///< threads that do not go once they are there
  Millis linger{10'000};  ///< the others go after this time without work
};

/// Jobs run beside each other, begun in the order they were given. A thread is added when all are held up, and one at a
/// time: jobs that last hold up no other, as long as there are fewer than `most`.
///
/// Thread: any; not destroyed by one of its own.
class Threads {
 public:
  using Job = std::move_only_function<void()>;

  explicit Threads(const ThreadsOptions& options) : options_(options) {}
  /// What was given is done first.
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  /// Runs `job` as soon as a thread is free. When the system gives none at all, with the next call that gets one.
  void Do(Job job) BERTH_EXCLUDES(mutex_);
  /// Runs `job` at once. False: as many as may run do, or the system gives no thread; it is not run.
  bool DoNow(Job job) BERTH_EXCLUDES(mutex_);

  /// Jobs that wait or run.
  std::size_t jobs() const BERTH_EXCLUDES(mutex_);
  std::size_t threads() const BERTH_EXCLUDES(mutex_);

 private:
  using List = std::list<std::thread>;
  void GrowIfShort() BERTH_REQUIRES(mutex_);
  void JoinEnded() BERTH_EXCLUDES(mutex_);
  void Work(List::iterator self) BERTH_EXCLUDES(mutex_);
  /// `first`: it has done no job before. False: this thread shall go, and counts no more: who gives a job now gets
  /// another.
  bool TakeJob(Job& job, List::iterator self, bool first) BERTH_EXCLUDES(mutex_);

  const ThreadsOptions options_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<Job> waiting_ BERTH_GUARDED_BY(mutex_);
  std::size_t running_ BERTH_GUARDED_BY(mutex_) = 0;  // jobs
  std::size_t idle_ BERTH_GUARDED_BY(mutex_) = 0;
  bool starting_ BERTH_GUARDED_BY(mutex_) = false;  // a thread that has not come to look for a job yet
  List threads_ BERTH_GUARDED_BY(mutex_);
  List ended_ BERTH_GUARDED_BY(mutex_);  // to be joined
  bool stop_ BERTH_GUARDED_BY(mutex_) = false;
};

}  // namespace berth::os

#endif  // BERTH_HOST_OS_THREADS_H_
