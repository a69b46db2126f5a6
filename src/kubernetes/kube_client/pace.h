// Retry back-off, exponential with jitter. Pure: time and chance are arguments.
#ifndef BERTH_KUBERNETES_KUBE_CLIENT_PACE_H_
#define BERTH_KUBERNETES_KUBE_CLIENT_PACE_H_

#include "host/os/clock.h"

namespace berth::kube {

struct PaceOptions {
  os::Millis first{800};
  os::Millis most{30'000};
  os::Millis forget{120'000};  ///< without a failure: the next one counts as the first
};

/// Growing pauses, spread so that the clients of a server that was away do not come back at one time.
class Pace {
 public:
  explicit Pace(const PaceOptions& options) : options_(options) {}
  /// `chance`: 0 to 1. The pause: doubled with each failure, and up to as much again.
  os::Millis Failed(os::MonoTime now, double chance);

 private:
  PaceOptions options_;
  os::Millis next_{0};
  os::MonoTime last_{};
};

}  // namespace berth::kube

#endif  // BERTH_KUBERNETES_KUBE_CLIENT_PACE_H_
