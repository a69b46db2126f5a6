// Waiting for what the kernel does a moment later: longer each time, until a limit is used up. Internal to the
// component.
#ifndef BERTH_HOST_CGROUP_PATIENCE_H_
#define BERTH_HOST_CGROUP_PATIENCE_H_

#include <algorithm>
#include <functional>

#include "host/os/clock.h"

namespace berth::cgroup {

/// Waits 1, 2, 4, ... ms, until the limit is used up. `wait` (TreeDoors::wait) outlives it.
class Patience {
 public:
  Patience(const std::function<void(os::Millis)>& wait, os::Millis limit) : wait_(wait), limit_(limit) {}
  /// false: no time left, not waited.
  bool Wait() {
    if (waited_ >= limit_) return false;
    const os::Millis now = std::min(next_, limit_ - waited_);
    wait_(now);
    waited_ += now;
    next_ *= 2;
    return true;
  }

 private:
  const std::function<void(os::Millis)>& wait_;
  os::Millis limit_;
  os::Millis next_{1};
  os::Millis waited_{0};
};

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_PATIENCE_H_
