#include "host/event_loop/workers.h"

#include <utility>

#include "host/event_loop/loop.h"
#include "host/os/clock.h"

namespace berth::event_loop {

Result<std::unique_ptr<Workers>> Workers::Start(Loop& loop, const WorkersOptions& options) {
  std::unique_ptr<Workers> out(new Workers(loop, options));
  out->jobs_.Post("start", [] {});
  if (out->threads() == 0) return Fail(Code::kExhausted, "the system gives no thread; see 'ulimit -u' and pids.max");
  while (out->jobs() > 0) os::SleepFor(os::Millis(1));  // who counts jobs counts none of ours
  return out;
}

void Workers::Run(const std::string& queue, Job job, Job then) {
  auto work = [this, what = queue.substr(0, queue.find('/')), job = std::move(job), then = std::move(then)]() mutable {
    job();
    job = nullptr;  // what it owned goes before its end is told
    loop_.Post(what, std::move(then));
  };
  jobs_.Post(queue, std::move(work));
}

}  // namespace berth::event_loop
