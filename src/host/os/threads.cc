#include "host/os/threads.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace berth::os {

Threads::Threads(std::span<const LaneLimits> lanes, Millis linger) : linger_(linger), lanes_(lanes.size()) {
  for (std::size_t i = 0; i < lanes.size(); ++i) lanes_[i].limits = lanes[i];
}

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

bool Threads::StartThoseThatStay() {
  const MutexLock lock(mutex_);
  while (threads_.size() < Kept())
    if (!AddThread()) return false;
  return true;
}

void Threads::Do(Job job, std::size_t lane) {
  JoinEnded();
  const MutexLock lock(mutex_);
  lanes_[lane].waiting.push_back(std::move(job));
  GrowIfShort();
  changed_.NotifyAll();
}

bool Threads::DoNow(Job job) {
  JoinEnded();
  const MutexLock lock(mutex_);
  Lane& lane = lanes_.front();
  if (lane.running + lane.waiting.size() >= lane.limits.most) return false;
  lane.waiting.push_back(std::move(job));
  GrowIfShort();
  if (threads_.empty()) {
    lane.waiting.pop_back();
    return false;
  }
  changed_.NotifyAll();
  return true;
}

bool Threads::AddThread() {
  const auto self = threads_.emplace(threads_.end());
  try {
    *self = std::thread([this, self] { Work(self); });
    ++starting_;
    return true;
  } catch (const std::system_error&) {
    threads_.erase(self);  // the system has no room for one: those there are go on
    return false;
  }
}

/// One at a time: a thread that was just started may be all that is needed. It calls this when it takes a job.
void Threads::GrowIfShort() {
  if (starting_ > 0) return;
  for (const Lane& lane : lanes_) {
    const std::size_t may_run = std::min(lane.waiting.size(), lane.limits.most - lane.running);
    if (may_run <= idle_ && (may_run == 0 || CanBegin(lane))) continue;
    AddThread();
    return;
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

/// Idle threads that have to be there for lanes with fewer jobs than threads that stay.
std::size_t Threads::Kept() const {
  std::size_t out = 0;
  for (const Lane& lane : lanes_) out += lane.limits.stay - std::min(lane.limits.stay, lane.running);
  return out;
}

/// For an idle thread.
bool Threads::CanBegin(const Lane& lane) const {
  if (lane.waiting.empty() || lane.running >= lane.limits.most) return false;
  return stop_ || lane.running < lane.limits.stay || idle_ > Kept();
}

Threads::Lane* Threads::NextLane() {
  for (Lane& lane : lanes_)
    if (CanBegin(lane)) return &lane;
  return nullptr;
}

bool Threads::TakeJob(Job& job, Lane*& lane, List::iterator self) {
  const MutexLock lock(mutex_);
  // Idle at the same moment: who sees no job left, or no thread that starts, has one that is free.
  --(lane != nullptr ? lane->running : starting_);
  const MonoTime end = SystemClock().Now() + linger_;
  ++idle_;
  for (lane = NextLane(); lane == nullptr && !stop_; lane = NextLane()) {
    GrowIfShort();  // while this one was starting no other was started
    const bool stays = idle_ <= Kept();
    if (!stays && SystemClock().Now() >= end) break;
    if (stays)
      changed_.Wait(mutex_);
    else
      changed_.WaitUntil(mutex_, end);
  }
  --idle_;
  if (lane == nullptr) {
    ended_.splice(ended_.end(), threads_, self);
    changed_.NotifyAll();
    return false;
  }
  job = std::move(lane->waiting.front());
  lane->waiting.pop_front();
  ++lane->running;
  GrowIfShort();
  return true;
}

void Threads::Work(List::iterator self) {
  Lane* lane = nullptr;
  for (Job job; TakeJob(job, lane, self);) {
    job();
    job = nullptr;  // what it owned goes before it counts as done
  }
}

std::size_t Threads::jobs() const {
  const MutexLock lock(mutex_);
  std::size_t out = 0;
  for (const Lane& lane : lanes_) out += lane.waiting.size() + lane.running;
  return out;
}

std::size_t Threads::threads() const {
  const MutexLock lock(mutex_);
  return threads_.size();
}

}  // namespace berth::os
