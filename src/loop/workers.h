// The Executor of berthd: threads that come when there is work and go when there is none.
#ifndef BERTH_LOOP_WORKERS_H_
#define BERTH_LOOP_WORKERS_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "loop/executor.h"
#include "os/clock.h"

namespace berth::loop {

class Loop;

struct WorkersOptions {
  std::size_t most_threads = 8;
  os::Millis linger{10'000};  ///< a thread without work goes after this time; one always stays
};

/// Thread: all functions on the loop's thread.
class Workers final : public Executor {
 public:
  /// `loop` outlives them. Errors: kExhausted when the system gives no thread.
  static Result<std::unique_ptr<Workers>> Start(Loop& loop, const WorkersOptions& options);
  /// Drops jobs that have not begun and waits for the others, however long: call Stop before.
  ~Workers() override;

  /// Jobs wait for a free thread when `most_threads` are at work. The end is called on the loop with the name of the
  /// queue up to its first '/'.
  void Run(const std::string& queue, Job job, Job then) override BERTH_EXCLUDES(mutex_);

  /// Takes no more jobs and waits until those given so far are done. False: not `within` this time; what has not begun
  /// is dropped then. Ends are still posted to the loop.
  bool Stop(os::Millis within) BERTH_EXCLUDES(mutex_);

  /// Jobs that wait or run.
  std::size_t jobs() const BERTH_EXCLUDES(mutex_);
  std::size_t threads() const BERTH_EXCLUDES(mutex_);

 private:
  struct Entry {
    Job job;
    Job then;
  };
  struct Queue {
    std::deque<Entry> waiting;
    bool busy = false;  ///< a job of it runs
  };

  Workers(Loop& loop, const WorkersOptions& options) : loop_(loop), options_(options) {}
  /// False: the system gives none.
  bool AddThread() BERTH_REQUIRES(mutex_);
  void Work() BERTH_EXCLUDES(mutex_);
  /// False: this thread shall go.
  bool WaitForWork() BERTH_REQUIRES(mutex_);
  std::vector<Entry> TakeWaiting() BERTH_REQUIRES(mutex_);
  void JoinGone() BERTH_EXCLUDES(mutex_);

  Loop& loop_;
  const WorkersOptions options_;
  mutable Mutex mutex_;
  CondVar changed_;                                               // something to do, something done, or the end
  std::map<std::string, Queue> queues_ BERTH_GUARDED_BY(mutex_);  // those with a job that waits or runs
  std::deque<std::string> ready_ BERTH_GUARDED_BY(mutex_);        // queues with a job and nobody at it
  std::size_t jobs_ BERTH_GUARDED_BY(mutex_) = 0;
  std::size_t idle_ BERTH_GUARDED_BY(mutex_) = 0;
  std::map<std::thread::id, std::thread> threads_ BERTH_GUARDED_BY(mutex_);
  std::vector<std::thread> gone_ BERTH_GUARDED_BY(mutex_);  // ended, or just about to; not joined yet
  bool stopping_ BERTH_GUARDED_BY(mutex_) = false;          // no more jobs are taken
  bool stop_ BERTH_GUARDED_BY(mutex_) = false;              // threads go
};

}  // namespace berth::loop

#endif  // BERTH_LOOP_WORKERS_H_
