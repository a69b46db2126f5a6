// Threads that answer calls.
#ifndef BERTH_HTTP_WORKERS_H_
#define BERTH_HTTP_WORKERS_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace berth::http {

/// One thread, and one more whenever all are held up, so that calls that last hold up no other, as long as there are
/// fewer than `most`. Thread: any.
class Workers {
 public:
  using Task = std::move_only_function<void()>;

  explicit Workers(std::size_t most);
  /// What was given is done first.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void Do(Task task) BERTH_EXCLUDES(mutex_);

 private:
  void GrowIfShort() BERTH_REQUIRES(mutex_);
  void Work();

  const std::size_t most_;
  Mutex mutex_;
  CondVar changed_;
  std::deque<Task> tasks_ BERTH_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ BERTH_GUARDED_BY(mutex_);
  std::size_t started_ BERTH_GUARDED_BY(mutex_) = 0;  // threads that have come to look for tasks
  std::size_t idle_ BERTH_GUARDED_BY(mutex_) = 0;
  bool stop_ BERTH_GUARDED_BY(mutex_) = false;
};

}  // namespace berth::http

#endif  // BERTH_HTTP_WORKERS_H_
