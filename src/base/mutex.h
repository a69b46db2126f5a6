// A mutex the compiler can reason about: clang's -Wthread-safety checks every GUARDED_BY member (libstdc++'s mutex
// carries no annotations). With other compilers the macros are empty.
#ifndef BERTH_BASE_MUTEX_H_
#define BERTH_BASE_MUTEX_H_

#include <chrono>
#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define BERTH_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define BERTH_THREAD_ANNOTATION(x)
#endif

/// This member may only be touched while `mutex` is held.
#define BERTH_GUARDED_BY(mutex) BERTH_THREAD_ANNOTATION(guarded_by(mutex))
/// This function may only be called while `mutex` is held.
#define BERTH_REQUIRES(...) BERTH_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
/// From this function's return on `mutex` counts as held: it ends the program where it is not.
#define BERTH_ASSERTS(...) BERTH_THREAD_ANNOTATION(assert_capability(__VA_ARGS__))
/// This function takes `mutex` itself: the caller must not hold it.
#define BERTH_EXCLUDES(...) BERTH_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

namespace berth {

/// A plain, not recursive mutex.
class BERTH_THREAD_ANNOTATION(capability("mutex")) Mutex {
 public:
  void Lock() BERTH_THREAD_ANNOTATION(acquire_capability()) { mutex_.lock(); }
  void Unlock() BERTH_THREAD_ANNOTATION(release_capability()) { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

/// Holds a Mutex for a scope.
class BERTH_THREAD_ANNOTATION(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) BERTH_THREAD_ANNOTATION(acquire_capability(mutex)) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() BERTH_THREAD_ANNOTATION(release_capability()) { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

/// Waits for a condition guarded by a Mutex. Spurious wake-ups happen: wait in a loop.
class CondVar {
 public:
  void Wait(Mutex& mutex) BERTH_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  /// Returns at `deadline` at the latest.
  void WaitUntil(Mutex& mutex, std::chrono::steady_clock::time_point deadline) BERTH_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait_until(lock, deadline);
    lock.release();
  }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace berth

#endif  // BERTH_BASE_MUTEX_H_
