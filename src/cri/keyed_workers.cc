#include "cri/keyed_workers.h"

#include <utility>

namespace berth::cri {

KeyedWorkers::~KeyedWorkers() {
  std::vector<std::thread> threads;
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    threads = std::move(threads_);
    changed_.NotifyAll();
  }
  for (std::thread& thread : threads) thread.join();
}

void KeyedWorkers::Post(const std::string& key, std::function<void()> job) {
  const MutexLock lock(mutex_);
  auto [it, fresh] = waiting_.try_emplace(key);
  it->second.push_back(std::move(job));
  if (!fresh) return;  // whoever works on this key goes on with it
  ready_.push_back(key);
  if (idle_ < ready_.size() && threads_.size() < most_ && !stop_) threads_.emplace_back([this] { Work(); });
  changed_.NotifyAll();
}

bool KeyedWorkers::Busy(const std::string& key) {
  const MutexLock lock(mutex_);
  return waiting_.contains(key);
}

void KeyedWorkers::Work() {
  for (;;) {
    std::string key;
    std::function<void()> job;
    {
      const MutexLock lock(mutex_);
      ++idle_;
      while (ready_.empty() && !stop_) changed_.Wait(mutex_);
      --idle_;
      if (stop_) return;
      key = std::move(ready_.front());
      ready_.pop_front();
      std::deque<std::function<void()>>& jobs = waiting_[key];
      job = std::move(jobs.front());
      jobs.pop_front();
    }
    job();
    const MutexLock lock(mutex_);
    if (waiting_[key].empty()) {
      waiting_.erase(key);
    } else {
      ready_.push_back(std::move(key));
      changed_.NotifyAll();
    }
  }
}

}  // namespace berth::cri
