// Capability of the loop's thread: what only that thread may touch or call, checked by clang's -Wthread-safety.
//
//   std::map<int, Pod> pods_ BERTH_GUARDED_BY(loop_thread);              touched by the loop's thread only
//   void Tick(os::MonoTime now) BERTH_REQUIRES(loop_thread);             called by it only
//   Result<Answer> Call(const Question&) BERTH_EXCLUDES(loop_thread);    waits: never called by it
//
// A lambda begins without it. One that is handed to the loop, or as the end of a job to an Executor, says that it is
// called there: [this](os::MonoTime now) BERTH_REQUIRES(loop_thread) { Tick(now); }. A job that says so does not
// compile.
#ifndef BERTH_BASE_LOOP_THREAD_H_
#define BERTH_BASE_LOOP_THREAD_H_

#include "base/mutex.h"
#include "base/result.h"

namespace berth {

/// The calling thread has it from Claim on, for good. Several threads may, each with a loop of its own.
class BERTH_THREAD_ANNOTATION(capability("thread")) LoopThread {
 public:
  /// For who makes a loop, and for tests that take its place.
  void Claim() const BERTH_ASSERTS(this) { here_ = true; }
  /// Aborts on a thread that has not claimed it.
  void Assert() const BERTH_ASSERTS(this) { BERTH_CHECK(here_); }

 private:
  static inline thread_local bool here_ = false;
};

inline constexpr LoopThread loop_thread;

}  // namespace berth

#endif  // BERTH_BASE_LOOP_THREAD_H_
