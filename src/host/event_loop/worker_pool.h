// Worker pool: threads that come when there is work and go when there is none, shared by named lanes.
#ifndef BERTH_HOST_EVENT_LOOP_WORKER_POOL_H_
#define BERTH_HOST_EVENT_LOOP_WORKER_POOL_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/event_loop/executor.h"
#include "host/os/clock.h"
#include "host/os/keyed_jobs.h"
#include "host/os/threads.h"

namespace berth::event_loop {

class Loop;

struct LaneOptions {
  std::string name;
  std::size_t most = 8;  ///< jobs at a time, 1 at least
};

/// An Executor whose jobs wait for each other only: however many of other lanes hang, one of this lane has a thread.
///
/// Thread: all functions on the loop's thread.
class WorkerLane final : public Executor {
 public:
  WorkerLane(Loop& loop, os::Threads& threads, std::size_t number) : loop_(loop), jobs_(threads, number) {}

  /// Jobs wait while `most` of this lane are at work. The end is called on the loop with the name of the queue up to
  /// its first '/'.
  void Run(const std::string& queue, Job job, Job then) override;

  /// Takes no more jobs and waits until those given so far are done. False: not `within` this time; what has not begun
  /// is dropped then. Ends are still posted to the loop.
  bool Stop(os::Millis within) { return jobs_.Stop(within); }

  /// Jobs that wait or run.
  std::size_t jobs() const { return jobs_.jobs(); }

 private:
  Loop& loop_;
  os::KeyedJobs jobs_;
};

/// Thread: all functions on the loop's thread.
class WorkerPool {
 public:
  /// One thread stays for each lane; the others go after `linger` without work. `loop` outlives the pool.
  /// Errors: kExhausted when the system gives fewer threads than there are lanes.
  static Result<std::unique_ptr<WorkerPool>> Start(Loop& loop, const std::vector<LaneOptions>& lanes,
                                                   os::Millis linger = os::Threads::kLinger);
  /// Drops jobs that have not begun and waits for the others, however long: stop the lanes before.
  ~WorkerPool() = default;
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Requires: Start was given one of this name.
  WorkerLane& lane(std::string_view name);
  std::size_t threads() const { return threads_.threads(); }

 private:
  WorkerPool(Loop& loop, const std::vector<LaneOptions>& lanes, os::Millis linger);

  os::Threads threads_;
  std::map<std::string, WorkerLane, std::less<>> lanes_;
};

}  // namespace berth::event_loop

#endif  // BERTH_HOST_EVENT_LOOP_WORKER_POOL_H_
