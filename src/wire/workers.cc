#include "wire/workers.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "os/clock.h"

namespace berth::wire {
namespace {

constexpr std::chrono::seconds kIdle{10};

}  // namespace

Workers::~Workers() {
  Threads threads;
  {
    const MutexLock lock(mutex_);
    stop_ = true;
    changed_.NotifyAll();
    while (!threads_.empty()) changed_.Wait(mutex_);
    threads = std::move(ended_);
  }
  for (std::thread& thread : threads) thread.join();
}

bool Workers::StartThread() {
  const auto self = threads_.emplace(threads_.end());
  try {
    *self = std::thread([this, self] { Work(self); });
  } catch (const std::system_error&) {
    threads_.erase(self);
    return false;
  }
  return true;
}

bool Workers::Post(std::function<void()> job) {
  const MutexLock lock(mutex_);
  for (std::thread& thread : std::exchange(ended_, {})) thread.join();
  if (busy_ >= most_ || stop_) return false;
  if (idle_ <= jobs_.size() && !StartThread()) return false;
  ++busy_;
  jobs_.push_back(std::move(job));
  changed_.NotifyAll();
  return true;
}

/// False: there was nothing to do for a while, or the end has come.
bool Workers::TakeJob(std::function<void()>& job) {
  const MutexLock lock(mutex_);
  const os::MonoTime end = os::SystemClock().Now() + kIdle;
  ++idle_;
  while (jobs_.empty() && !stop_ && os::SystemClock().Now() < end) changed_.WaitUntil(mutex_, end);
  --idle_;
  if (jobs_.empty()) return false;
  job = std::move(jobs_.front());
  jobs_.pop_front();
  return true;
}

void Workers::Work(Threads::iterator self) {
  for (std::function<void()> job; TakeJob(job); job = nullptr) {
    job();
    const MutexLock lock(mutex_);
    --busy_;
  }
  const MutexLock lock(mutex_);
  ended_.splice(ended_.end(), threads_, self);
  changed_.NotifyAll();
}

}  // namespace berth::wire
