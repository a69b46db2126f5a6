// Periodic checks: what no event tells, compared and put right, a step at a time.
#ifndef BERTH_DAEMON_PERIODIC_CHECKS_H_
#define BERTH_DAEMON_PERIODIC_CHECKS_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "base/loop_thread.h"
#include "daemon/memory_mark.h"
#include "frontend/static_pods/sync_loop.h"
#include "host/os/clock.h"
#include "node/core/node_core.h"

namespace berth::daemon {

/// Thread: the loop's only.
class PeriodicChecks {
 public:
  /// Both outlive this.
  PeriodicChecks(core::Node& node, pods::SyncLoop& sync_loop);

  /// From now on, every `period`.
  void Begin(os::MonoTime now, os::Millis period) BERTH_REQUIRES(loop_thread);
  /// The next time, too, is so long after the last one.
  void SetPeriod(os::Millis period) BERTH_REQUIRES(loop_thread);
  /// Does what is due. False: the slice is over, and there is more to do at once.
  bool Work(os::MonoTime now, const os::Slice& slice) BERTH_REQUIRES(loop_thread);
  os::MonoTime next_due() const { return next_; }

 private:
  void ForgetGone() BERTH_REQUIRES(loop_thread);
  void MarkMemory() BERTH_REQUIRES(loop_thread);
  void GiveMemoryBack() BERTH_REQUIRES(loop_thread);

  core::Node& node_;
  pods::SyncLoop& sync_loop_;
  std::vector<std::function<void(os::MonoTime)>> steps_;
  std::size_t step_ BERTH_GUARDED_BY(loop_thread) = 0;  // the next one; 0: not begun
  os::Millis period_{10'000};
  os::MonoTime next_{};
  MemoryMark memory_ BERTH_GUARDED_BY(loop_thread);
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_PERIODIC_CHECKS_H_
