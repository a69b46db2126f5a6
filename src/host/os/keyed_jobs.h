// Jobs in queues: those of one key run one after another in their order, those of different keys beside each other.
#ifndef BERTH_HOST_OS_KEYED_JOBS_H_
#define BERTH_HOST_OS_KEYED_JOBS_H_

#include <cstddef>
#include <memory>
#include <string>

#include "host/os/clock.h"
#include "host/os/threads.h"

namespace berth::os {

/// Thread: any; not destroyed by one of its own jobs.
class KeyedJobs {
 public:
  using Job = Threads::Job;

  /// Run in a lane of `threads`, which outlive this.
  explicit KeyedJobs(Threads& threads, std::size_t lane = 0);
  /// Drops jobs that have not begun and waits for the others.
  ~KeyedJobs();
  KeyedJobs(const KeyedJobs&) = delete;
  KeyedJobs& operator=(const KeyedJobs&) = delete;

  void Post(const std::string& key, Job job);
  /// A job of this key waits or runs.
  bool Busy(const std::string& key) const;
  /// Takes no more jobs and waits until those given so far are done. False: not `within` this time; what has not begun
  /// is dropped then.
  bool Stop(Millis within);

  /// Jobs that wait or run.
  std::size_t jobs() const;

 private:
  struct State;
  const std::shared_ptr<State> state_;  // a key whose jobs were dropped may still wait for a thread
};

}  // namespace berth::os

#endif  // BERTH_HOST_OS_KEYED_JOBS_H_
