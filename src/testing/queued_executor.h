// An Executor that runs nothing until it is told to: a test decides when slow work is over.
#ifndef BERTH_TESTING_QUEUED_EXECUTOR_H_
#define BERTH_TESTING_QUEUED_EXECUTOR_H_

#include <deque>
#include <string>
#include <utility>

#include "host/event_loop/executor.h"

namespace berth::testkit {

class QueuedExecutor final : public event_loop::Executor {
 public:
  void Run(const std::string& queue, Job job, Job then) override {
    waiting_.push_back({queue, std::move(job), std::move(then)});
  }
  std::size_t waiting() const { return waiting_.size(); }
  /// Runs the oldest job and its end. False: there is none.
  bool RunOne() {
    if (waiting_.empty()) return false;
    Entry next = std::move(waiting_.front());
    waiting_.pop_front();
    next.job();
    next.then();
    return true;
  }
  /// Until nothing waits, also what ends add.
  void RunAll() {
    while (RunOne()) {
    }
  }

 private:
  struct Entry {
    std::string queue;
    Job job;
    Job then;
  };
  std::deque<Entry> waiting_;
};

}  // namespace berth::testkit

#endif  // BERTH_TESTING_QUEUED_EXECUTOR_H_
