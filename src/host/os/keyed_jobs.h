// Jobs in queues: those of one key run one after another in their order, those of different keys beside each other.
#ifndef BERTH_HOST_OS_KEYED_JOBS_H_
#define BERTH_HOST_OS_KEYED_JOBS_H_

#include <cstddef>
#include <deque>
#include <map>
#include <string>

#include "base/mutex.h"
#include "host/os/clock.h"
#include "host/os/threads.h"

namespace berth::os {

/// Thread: any; not destroyed by one of its own.
class KeyedJobs {
 public:
  using Job = Threads::Job;

  explicit KeyedJobs(const ThreadsOptions& options) : threads_(options) {}
  /// Drops jobs that have not begun and waits for the others.
  ~KeyedJobs();
  KeyedJobs(const KeyedJobs&) = delete;
  KeyedJobs& operator=(const KeyedJobs&) = delete;

  void Post(const std::string& key, Job job) BERTH_EXCLUDES(mutex_);
  /// A job of this key waits or runs.
  bool Busy(const std::string& key) const BERTH_EXCLUDES(mutex_);
  /// Takes no more jobs and waits until those given so far are done. False: not `within` this time; what has not begun
  /// is dropped then.
  bool Stop(Millis within) BERTH_EXCLUDES(mutex_);

  /// Jobs that wait or run.
  std::size_t jobs() const BERTH_EXCLUDES(mutex_);
  std::size_t threads() const { return threads_.threads(); }

 private:
  using Queue = std::deque<Job>;  // of those that wait
  /// What is dropped goes when the lock is given back.
  std::map<std::string, Queue> Drop() BERTH_REQUIRES(mutex_);
  void RunNext(const std::string& key) BERTH_EXCLUDES(mutex_);

  mutable Mutex mutex_;
  CondVar done_;
  std::map<std::string, Queue> queues_ BERTH_GUARDED_BY(mutex_);  // those with a job that waits or runs
  std::size_t jobs_ BERTH_GUARDED_BY(mutex_) = 0;
  bool stopping_ BERTH_GUARDED_BY(mutex_) = false;
  Threads threads_;  // last: their jobs use all of the above
};

}  // namespace berth::os

#endif  // BERTH_HOST_OS_KEYED_JOBS_H_
