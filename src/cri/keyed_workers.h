// Jobs that wait for somebody else, on threads that come and go: jobs of one key run one after another in their order,
// jobs of different keys beside each other.
#ifndef BERTH_CRI_KEYED_WORKERS_H_
#define BERTH_CRI_KEYED_WORKERS_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"

namespace berth::cri {

/// Thread: any.
class KeyedWorkers {
 public:
  /// At most `most` jobs at a time.
  explicit KeyedWorkers(std::size_t most) : most_(most) {}
  /// Drops jobs that have not begun and waits for the others.
  ~KeyedWorkers();
  KeyedWorkers(const KeyedWorkers&) = delete;
  KeyedWorkers& operator=(const KeyedWorkers&) = delete;

  void Post(const std::string& key, std::function<void()> job) BERTH_EXCLUDES(mutex_);
  /// True when a job of this key waits or runs.
  bool Busy(const std::string& key) BERTH_EXCLUDES(mutex_);

 private:
  void Work() BERTH_EXCLUDES(mutex_);

  const std::size_t most_;
  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, std::deque<std::function<void()>>> waiting_ BERTH_GUARDED_BY(mutex_);  // of all busy keys
  std::deque<std::string> ready_ BERTH_GUARDED_BY(mutex_);  // keys with a job and nobody at it
  std::size_t idle_ BERTH_GUARDED_BY(mutex_) = 0;
  std::vector<std::thread> threads_ BERTH_GUARDED_BY(mutex_);
  bool stop_ BERTH_GUARDED_BY(mutex_) = false;
};

}  // namespace berth::cri

#endif  // BERTH_CRI_KEYED_WORKERS_H_
