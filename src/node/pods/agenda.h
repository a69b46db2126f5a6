// Next wake-up time of the pod loop: the earliest moment at which something has to be done even if no event comes.
#ifndef BERTH_NODE_PODS_AGENDA_H_
#define BERTH_NODE_PODS_AGENDA_H_

#include <algorithm>

#include "host/os/clock.h"

namespace berth::pods {

/// Thread: the loop's only.
class Agenda {
 public:
  /// The earliest of these times counts.
  void WakeAt(os::MonoTime when) { next_ = std::min(next_, when); }
  /// As soon as possible.
  void WakeNow() { next_ = os::MonoTime(); }
  /// All that was asked for is about to be looked at again.
  void Clear(os::MonoTime now) { next_ = now + kLongAway; }
  os::MonoTime next() const { return next_; }

 private:
  static constexpr std::chrono::hours kLongAway{24};
  os::MonoTime next_{};
};

}  // namespace berth::pods

#endif  // BERTH_NODE_PODS_AGENDA_H_
