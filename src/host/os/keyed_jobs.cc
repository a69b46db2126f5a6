#include "host/os/keyed_jobs.h"

#include <chrono>
#include <deque>
#include <map>
#include <utility>

#include "base/mutex.h"

namespace berth::os {

struct KeyedJobs::State {
  using Queues = std::map<std::string, std::deque<Job>>;  // of those that wait

  State(Threads& threads_, std::size_t lane_) : threads(threads_), lane(lane_) {}
  /// What is dropped goes when the lock is given back.
  Queues Drop() BERTH_REQUIRES(mutex);
  static void AskForThread(const std::shared_ptr<State>& self, const std::string& key) {
    self->threads.Do([self, key] { RunNext(self, key); }, self->lane);
  }
  static void RunNext(const std::shared_ptr<State>& self, const std::string& key);

  Threads& threads;
  const std::size_t lane;
  Mutex mutex;
  CondVar done;
  Queues queues BERTH_GUARDED_BY(mutex);  // those with a job that waits or runs
  std::size_t jobs BERTH_GUARDED_BY(mutex) = 0;
  bool stopping BERTH_GUARDED_BY(mutex) = false;
};

/// One job, so that other keys have their turn before the next of this one.
void KeyedJobs::State::RunNext(const std::shared_ptr<State>& self, const std::string& key) {
  State& state = *self;
  Job job;
  {
    const MutexLock lock(state.mutex);
    const auto queue = state.queues.find(key);
    if (queue->second.empty()) {  // dropped
      state.queues.erase(queue);
      return;
    }
    job = std::move(queue->second.front());
    queue->second.pop_front();
  }
  job();
  job = nullptr;  // what it owned goes before it counts as done
  {
    const MutexLock lock(state.mutex);
    --state.jobs;
    state.done.NotifyAll();
    const auto queue = state.queues.find(key);
    if (queue->second.empty()) {
      state.queues.erase(queue);
      return;
    }
  }
  AskForThread(self, key);
}

KeyedJobs::State::Queues KeyedJobs::State::Drop() {
  Queues out;
  for (auto& [key, queue] : queues) {
    jobs -= queue.size();
    out[key].swap(queue);
  }
  return out;
}

KeyedJobs::KeyedJobs(Threads& threads, std::size_t lane) : state_(std::make_shared<State>(threads, lane)) {}

KeyedJobs::~KeyedJobs() {
  State& state = *state_;
  State::Queues dropped;
  const MutexLock lock(state.mutex);
  state.stopping = true;
  dropped = state.Drop();
  while (state.jobs > 0) state.done.Wait(state.mutex);
}

void KeyedJobs::Post(const std::string& key, Job job) {
  {
    State& state = *state_;
    const MutexLock lock(state.mutex);
    if (state.stopping) return;
    const auto [queue, fresh] = state.queues.try_emplace(key);
    queue->second.push_back(std::move(job));
    ++state.jobs;
    if (!fresh) return;  // who works on this key goes on with it
  }
  State::AskForThread(state_, key);
}

bool KeyedJobs::Stop(Millis within) {
  const auto end = std::chrono::steady_clock::now() + within;
  State& state = *state_;
  State::Queues dropped;
  const MutexLock lock(state.mutex);
  state.stopping = true;
  while (state.jobs > 0 && std::chrono::steady_clock::now() < end) state.done.WaitUntil(state.mutex, end);
  const bool done = state.jobs == 0;
  dropped = state.Drop();
  return done;
}

bool KeyedJobs::Busy(const std::string& key) const {
  const MutexLock lock(state_->mutex);
  return state_->queues.contains(key);
}

std::size_t KeyedJobs::jobs() const {
  const MutexLock lock(state_->mutex);
  return state_->jobs;
}

}  // namespace berth::os
