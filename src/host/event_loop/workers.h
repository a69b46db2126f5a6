// The Executor of berthd: threads that come when there is work and go when there is none.
#ifndef BERTH_HOST_EVENT_LOOP_WORKERS_H_
#define BERTH_HOST_EVENT_LOOP_WORKERS_H_

#include <cstddef>
#include <memory>
#include <string>

#include "base/result.h"
#include "host/event_loop/executor.h"
#include "host/os/clock.h"
#include "host/os/keyed_jobs.h"

namespace berth::event_loop {

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
  ~Workers() override = default;

  /// Jobs wait for a free thread when `most_threads` are at work. The end is called on the loop with the name of the
  /// queue up to its first '/'.
  void Run(const std::string& queue, Job job, Job then) override;

  /// Takes no more jobs and waits until those given so far are done. False: not `within` this time; what has not begun
  /// is dropped then. Ends are still posted to the loop.
  bool Stop(os::Millis within) { return jobs_.Stop(within); }

  /// Jobs that wait or run.
  std::size_t jobs() const { return jobs_.jobs(); }
  std::size_t threads() const { return jobs_.threads(); }

 private:
  Workers(Loop& loop, const WorkersOptions& options)
      : loop_(loop), jobs_({.most = options.most_threads, .stay = 1, .linger = options.linger}) {}

  Loop& loop_;
  os::KeyedJobs jobs_;
};

}  // namespace berth::event_loop

#endif  // BERTH_HOST_EVENT_LOOP_WORKERS_H_
