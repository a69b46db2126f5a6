#include "host/event_loop/worker_pool.h"

#include <utility>

#include "base/loop_thread.h"
#include "host/event_loop/loop.h"

namespace berth::event_loop {
namespace {

std::vector<os::LaneLimits> LimitsOf(const std::vector<LaneOptions>& lanes) {
  std::vector<os::LaneLimits> out;
  for (const LaneOptions& lane : lanes) out.push_back({.most = lane.most, .stay = 1});
  return out;
}

}  // namespace

void WorkerLane::Run(const std::string& queue, Job job, Job then) {
  loop_thread.Assert();
  auto work = [this, what = queue.substr(0, queue.find('/')), job = std::move(job), then = std::move(then)]() mutable {
    job();
    job = nullptr;  // what it owned goes before its end is told
    loop_.Post(what, std::move(then));
  };
  jobs_.Post(queue, std::move(work));
}

WorkerPool::WorkerPool(Loop& loop, const std::vector<LaneOptions>& lanes, os::Millis linger)
    : threads_(LimitsOf(lanes), linger) {
  for (std::size_t i = 0; i < lanes.size(); ++i) lanes_.try_emplace(lanes[i].name, loop, threads_, i);
}

Result<std::unique_ptr<WorkerPool>> WorkerPool::Start(Loop& loop, const std::vector<LaneOptions>& lanes,
                                                      os::Millis linger) {
  std::unique_ptr<WorkerPool> out(new WorkerPool(loop, lanes, linger));
  if (!out->threads_.StartThoseThatStay())
    return Fail(Code::kExhausted, "the system gives no thread; see 'ulimit -u' and pids.max");
  return out;
}

WorkerLane& WorkerPool::lane(std::string_view name) {
  const auto found = lanes_.find(name);
  BERTH_CHECK(found != lanes_.end());
  return found->second;
}

}  // namespace berth::event_loop
