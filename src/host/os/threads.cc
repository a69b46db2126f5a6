#include "host/os/threads.h"

#include <system_error>
#include <utility>

namespace berth::os {

Threads::~Threads() {
  List threads;
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    GrowIfShort();  // what waits must be done, if the system gives a thread at last
    changed_.NotifyAll();
    while (!threads_.empty()) changed_.Wait(mutex_);
    threads = std::move(ended_);
  }
  for (std::thread& thread : threads) thread.join();
}

void Threads::Do(Job job) {
  JoinEnded();
  const MutexLock lock(mutex_);
  waiting_.push_back(std::move(job));
  GrowIfShort();
  changed_.NotifyAll();
}

bool Threads::DoNow(Job job) {
  JoinEnded();
  const MutexLock lock(mutex_);
  if (running_ + waiting_.size() >= options_.most) return false;
  waiting_.push_back(std::move(job));
  GrowIfShort();
  if (threads_.empty()) {
    waiting_.pop_back();
    return false;
  }
  changed_.NotifyAll();
  return true;
}

/// One at a time: a thread that was just started may be all that is needed. It calls this when it takes a job.
void Threads::GrowIfShort() {
  if (waiting_.size() <= idle_ || starting_ || threads_.size() >= options_.most) return;
  const auto self = threads_.emplace(threads_.end());
  try {
    *self = std::thread([this, self] { Work(self); });
    starting_ = true;
  } catch (const std::system_error&) {
    threads_.erase(self);  // the system has no room for one: those there are go on
  }
}

void Threads::JoinEnded() {
  List ended;
  {
    const MutexLock lock(mutex_);
    ended.swap(ended_);
  }
  for (std::thread& thread : ended) thread.join();
}

bool Threads::TakeJob(Job& job, List::iterator self, bool first) {
  const MutexLock lock(mutex_);
  if (!first) --running_;  // idle at the same moment: who sees no job left has a thread that is free
  const MonoTime end = SystemClock().Now() + options_.linger;
  ++idle_;
  while (waiting_.empty() && !stop_) {
    const bool stays = threads_.size() <= options_.stay;
    if (!stays && SystemClock().Now() >= end) break;
    if (stays)
      changed_.Wait(mutex_);
    else
      changed_.WaitUntil(mutex_, end);
  }
  --idle_;
  if (waiting_.empty()) {
    ended_.splice(ended_.end(), threads_, self);
    changed_.NotifyAll();
    return false;
  }
  job = std::move(waiting_.front());
  waiting_.pop_front();
  ++running_;
  GrowIfShort();
  return true;
}

void Threads::Work(List::iterator self) {
  {
    const MutexLock lock(mutex_);
    starting_ = false;
  }
  bool first = true;
  for (Job job; TakeJob(job, self, first); first = false) {
    job();
    job = nullptr;  // what it owned goes before it counts as done
  }
}

std::size_t Threads::jobs() const {
  const MutexLock lock(mutex_);
  return waiting_.size() + running_;
}

std::size_t Threads::threads() const {
  const MutexLock lock(mutex_);
  return threads_.size();
}

}  // namespace berth::os
