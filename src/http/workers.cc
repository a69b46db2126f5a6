#include "http/workers.h"

#include <system_error>
#include <utility>

namespace berth::http {

Workers::Workers(std::size_t most) : most_(most) {
  const MutexLock lock(mutex_);
  threads_.emplace_back([this] { Work(); });
}

Workers::~Workers() {
  std::vector<std::thread> threads;
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    threads.swap(threads_);
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads) thread.join();
}

void Workers::Do(Task task) {
  const MutexLock lock(mutex_);
  tasks_.push_back(std::move(task));
  GrowIfShort();
  changed_.NotifyAll();
}

/// One at a time: a thread that was just started may be all that is needed.
void Workers::GrowIfShort() {
  if (tasks_.size() <= idle_ || started_ != threads_.size() || threads_.size() >= most_ || stop_) return;
  try {
    threads_.emplace_back([this] { Work(); });
  } catch (const std::system_error&) {
    // The system has no room for one: those there are go on.
  }
}

void Workers::Work() {
  for (bool first = true;; first = false) {
    Task task;
    {
      const MutexLock lock(mutex_);
      if (first) ++started_;
      ++idle_;
      while (tasks_.empty() && !stop_) changed_.Wait(mutex_);
      --idle_;
      if (tasks_.empty()) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
      GrowIfShort();
    }
    task();
  }
}

}  // namespace berth::http
