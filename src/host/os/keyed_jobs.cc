#include "host/os/keyed_jobs.h"

#include <chrono>
#include <utility>

namespace berth::os {

KeyedJobs::~KeyedJobs() {
  std::map<std::string, Queue> dropped;
  const MutexLock lock(mutex_);
  stopping_ = true;
  dropped = Drop();
}

void KeyedJobs::Post(const std::string& key, Job job) {
  {
    const MutexLock lock(mutex_);
    if (stopping_) return;
    const auto [queue, fresh] = queues_.try_emplace(key);
    queue->second.push_back(std::move(job));
    ++jobs_;
    if (!fresh) return;  // who works on this key goes on with it
  }
  threads_.Do([this, key] { RunNext(key); });
}

/// One job, so that other keys have their turn before the next of this one.
void KeyedJobs::RunNext(const std::string& key) {
  Job job;
  {
    const MutexLock lock(mutex_);
    const auto queue = queues_.find(key);
    if (queue->second.empty()) {  // dropped
      queues_.erase(queue);
      return;
    }
    job = std::move(queue->second.front());
    queue->second.pop_front();
  }
  job();
  job = nullptr;  // what it owned goes before it counts as done
  {
    const MutexLock lock(mutex_);
    --jobs_;
    done_.NotifyAll();
    const auto queue = queues_.find(key);
    if (queue->second.empty()) {
      queues_.erase(queue);
      return;
    }
  }
  threads_.Do([this, key] { RunNext(key); });
}

std::map<std::string, KeyedJobs::Queue> KeyedJobs::Drop() {
  std::map<std::string, Queue> out;
  for (auto& [key, queue] : queues_) {
    jobs_ -= queue.size();
    out[key].swap(queue);
  }
  return out;
}

bool KeyedJobs::Stop(Millis within) {
  const auto end = std::chrono::steady_clock::now() + within;
  std::map<std::string, Queue> dropped;
  const MutexLock lock(mutex_);
  stopping_ = true;
  while (jobs_ > 0 && std::chrono::steady_clock::now() < end) done_.WaitUntil(mutex_, end);
  const bool done = jobs_ == 0;
  dropped = Drop();
  return done;
}

bool KeyedJobs::Busy(const std::string& key) const {
  const MutexLock lock(mutex_);
  return queues_.contains(key);
}

std::size_t KeyedJobs::jobs() const {
  const MutexLock lock(mutex_);
  return jobs_;
}

}  // namespace berth::os
