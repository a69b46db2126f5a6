// Now and then: what nobody was told of, compared and put right, a step at a time.
#ifndef BERTH_DAEMON_RECONCILER_H_
#define BERTH_DAEMON_RECONCILER_H_

#include <cstddef>
#include <functional>
#include <vector>

#include "daemon/memory_mark.h"
#include "guard/guard.h"
#include "os/clock.h"
#include "pods/parts.h"
#include "pods/rounds.h"
#include "takeover/startup_recovery.h"

namespace berth::daemon {

/// Thread: the loop's only.
class Reconciler {
 public:
  /// All outlive this.
  Reconciler(const pods::Parts& parts, pods::Rounds& rounds, takeover::Takeover& takeover, guard::Guard& guard);

  /// From now on, every `period`.
  void Begin(os::MonoTime now, os::Millis period);
  void set_period(os::Millis period) { period_ = period; }
  /// Does what is due. False: the slice is over, and there is more to do at once.
  bool Work(os::MonoTime now, const os::Slice& slice);
  os::MonoTime next_due() const { return next_; }

 private:
  void ForgetGone();
  void MarkMemory();
  void GiveMemoryBack();

  pods::Parts parts_;
  pods::Rounds& rounds_;
  std::vector<std::function<void(os::MonoTime)>> steps_;
  std::size_t step_ = 0;  // the next one; 0: not begun
  os::Millis period_{10'000};
  os::MonoTime next_{};
  MemoryMark memory_;
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_RECONCILER_H_
