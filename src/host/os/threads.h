// Thread pool: threads that come when there is work and go when there is none for a while, shared by lanes that each
// have a limit.
#ifndef BERTH_HOST_OS_THREADS_H_
#define BERTH_HOST_OS_THREADS_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <span>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "host/os/clock.h"

namespace berth::os {

struct LaneLimits {
  std::size_t most = 8;  ///< jobs at a time
  std::size_t stay = 0;  ///< threads kept for it, whatever the other lanes do; at most `most`
};

/// Jobs run beside each other, those of a lane begun in the order they were given. A thread is added when all are held
/// up, and one at a time: jobs that last hold up no other, as long as their lane has fewer than `most`. Where the
/// system gives no more threads, each lane still has those that stay for it.
///
/// Thread: any; not destroyed by one of its own.
class Threads {
 public:
  using Job = std::move_only_function<void()>;
  static constexpr Millis kLinger{10'000};

  /// A thread that is kept for no lane goes after `linger` without work.
  explicit Threads(std::span<const LaneLimits> lanes, Millis linger = kLinger);
  /// With one lane.
  explicit Threads(const LaneLimits& limits, Millis linger = kLinger) : Threads(std::span(&limits, 1), linger) {}
  /// What was given is done first.
  ~Threads();
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  /// Starts those that stay, which else come with the first jobs. False: the system gives fewer.
  bool StartThoseThatStay() BERTH_EXCLUDES(mutex_);
  /// Runs `job` as soon as a thread is free for its lane. When the system gives none at all, with the next call that
  /// gets one.
  void Do(Job job, std::size_t lane = 0) BERTH_EXCLUDES(mutex_);
  /// Runs `job` in the first lane at once. False: as many as may run do, or the system gives no thread; it is not run.
  bool DoNow(Job job) BERTH_EXCLUDES(mutex_);

  /// Jobs that wait or run.
  std::size_t jobs() const BERTH_EXCLUDES(mutex_);
  std::size_t threads() const BERTH_EXCLUDES(mutex_);

 private:
  using List = std::list<std::thread>;
  struct Lane {
    LaneLimits limits;
    std::deque<Job> waiting{};
    std::size_t running = 0;  // jobs
  };
  bool AddThread() BERTH_REQUIRES(mutex_);
  void GrowIfShort() BERTH_REQUIRES(mutex_);
  void JoinEnded() BERTH_EXCLUDES(mutex_);
  std::size_t Kept() const BERTH_REQUIRES(mutex_);
  bool CanBegin(const Lane& lane) const BERTH_REQUIRES(mutex_);
  Lane* NextLane() BERTH_REQUIRES(mutex_);
  void Work(List::iterator self) BERTH_EXCLUDES(mutex_);
  /// `lane`: of the job that was done, null before the first; then of `job`. False: this thread shall go, and counts no
  /// more: who gives a job now gets another.
  bool TakeJob(Job& job, Lane*& lane, List::iterator self) BERTH_EXCLUDES(mutex_);

  const Millis linger_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<Lane> lanes_ BERTH_GUARDED_BY(mutex_);  // never more or fewer
  std::size_t idle_ BERTH_GUARDED_BY(mutex_) = 0;
  std::size_t starting_ BERTH_GUARDED_BY(mutex_) = 0;  // threads that have not come to look for a job yet
  List threads_ BERTH_GUARDED_BY(mutex_);
  List ended_ BERTH_GUARDED_BY(mutex_);  // to be joined
  bool stop_ BERTH_GUARDED_BY(mutex_) = false;
};

}  // namespace berth::os

#endif  // BERTH_HOST_OS_THREADS_H_
