#include "loop/workers.h"

#include <iterator>
#include <system_error>
#include <utility>

#include "loop/loop.h"

namespace berth::loop {

Result<std::unique_ptr<Workers>> Workers::Start(Loop& loop, const WorkersOptions& options) {
  std::unique_ptr<Workers> out(new Workers(loop, options));
  const MutexLock lock(out->mutex_);
  if (!out->AddThread()) return Fail(Code::kExhausted, "the system gives no thread; see 'ulimit -u' and pids.max");
  return out;
}

Workers::~Workers() {
  std::map<std::thread::id, std::thread> threads;
  std::vector<Entry> dropped;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    stop_ = true;
    dropped = TakeWaiting();
    threads.swap(threads_);
    changed_.NotifyAll();
  }
  for (auto& [id, thread] : threads) thread.join();
  JoinGone();
}

bool Workers::AddThread() {
  try {
    std::thread thread([this] { Work(); });
    const std::thread::id id = thread.get_id();
    threads_.emplace(id, std::move(thread));
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

void Workers::Run(const std::string& queue, Job job, Job then) {
  JoinGone();
  const MutexLock lock(mutex_);
  if (stopping_) return;
  Queue& mine = queues_[queue];
  mine.waiting.push_back({.job = std::move(job), .then = std::move(then)});
  ++jobs_;
  if (mine.busy || mine.waiting.size() > 1) return;  // comes after the one before it
  ready_.push_back(queue);
  // When the system gives no more threads, those there are do the work.
  if (idle_ < ready_.size() && threads_.size() < options_.most_threads) AddThread();
  changed_.NotifyAll();
}

bool Workers::WaitForWork() {
  const auto end = std::chrono::steady_clock::now() + options_.linger;
  ++idle_;
  while (ready_.empty() && !stop_) {
    const bool last = threads_.size() == 1;
    if (!last && std::chrono::steady_clock::now() >= end) break;
    if (last)
      changed_.Wait(mutex_);
    else
      changed_.WaitUntil(mutex_, end);
  }
  --idle_;
  if (stop_) return false;
  if (!ready_.empty()) return true;
  const auto me = threads_.find(std::this_thread::get_id());
  gone_.push_back(std::move(me->second));
  threads_.erase(me);
  return false;
}

void Workers::Work() {
  for (;;) {
    std::string name;
    Entry entry;
    {
      const MutexLock lock(mutex_);
      if (!WaitForWork()) return;
      name = std::move(ready_.front());
      ready_.pop_front();
      Queue& queue = queues_[name];
      entry = std::move(queue.waiting.front());
      queue.waiting.pop_front();
      queue.busy = true;
    }
    entry.job();
    entry.job = nullptr;  // what it owned goes before its end is told
    loop_.Post(name.substr(0, name.find('/')), std::move(entry.then));
    const MutexLock lock(mutex_);
    --jobs_;
    const auto queue = queues_.find(name);
    queue->second.busy = false;
    if (queue->second.waiting.empty())
      queues_.erase(queue);
    else
      ready_.push_back(std::move(name));
    changed_.NotifyAll();
  }
}

bool Workers::Stop(os::Millis within) {
  const auto end = std::chrono::steady_clock::now() + within;
  std::vector<Entry> dropped;
  const MutexLock lock(mutex_);
  stopping_ = true;
  while (jobs_ > 0 && std::chrono::steady_clock::now() < end) changed_.WaitUntil(mutex_, end);
  const bool done = jobs_ == 0;
  dropped = TakeWaiting();
  return done;
}

std::vector<Workers::Entry> Workers::TakeWaiting() {
  std::vector<Entry> out;
  for (auto& [name, queue] : queues_) {
    out.insert(out.end(), std::move_iterator(queue.waiting.begin()), std::move_iterator(queue.waiting.end()));
    queue.waiting.clear();
  }
  std::erase_if(queues_, [](const auto& entry) { return !entry.second.busy; });
  ready_.clear();
  jobs_ -= out.size();
  return out;
}

void Workers::JoinGone() {
  std::vector<std::thread> gone;
  {
    const MutexLock lock(mutex_);
    gone.swap(gone_);
  }
  for (std::thread& thread : gone) thread.join();
}

std::size_t Workers::jobs() const {
  const MutexLock lock(mutex_);
  return jobs_;
}

std::size_t Workers::threads() const {
  const MutexLock lock(mutex_);
  return threads_.size();
}

}  // namespace berth::loop
