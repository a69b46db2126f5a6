// The kubelet's crash loop back-off, as pure logic: time comes in as an argument.
//
// The first restart is immediate; the following ones wait 10 s, 20 s, 40 s ... up to 300 s after the container ended. A
// container that ran for more than twice the maximum since its last restart starts over.
#ifndef BERTH_RUNTIME_LIFECYCLE_BACKOFF_H_
#define BERTH_RUNTIME_LIFECYCLE_BACKOFF_H_

#include "host/os/clock.h"

namespace berth::runtime {

struct BackoffOptions {
  os::Millis initial{10'000};
  os::Millis max{300'000};  ///< crashLoopBackOff.maxContainerRestartPeriod; below `initial` it lowers that too
  friend bool operator==(const BackoffOptions&, const BackoffOptions&) = default;
};

/// Wait before the restart that follows `restarts` earlier ones in a row: 0 for none, then initial, doubled each time
/// up to max.
os::Millis BackoffDelay(int restarts, const BackoffOptions& options);

/// History of one container. Value type; not thread-safe.
class Backoff {
 public:
  explicit Backoff(const BackoffOptions& options = {}) : options_(options) {}

  /// Wait that applies to a container that ended at `finished`.
  os::Millis Delay(os::MonoTime finished) const;
  /// When a container that ended at `finished` may start again; `finished` itself when at once.
  os::MonoTime RestartAt(os::MonoTime finished) const { return finished + Delay(finished); }
  /// It ended at `finished` and was restarted at `now`.
  void Restarted(os::MonoTime finished, os::MonoTime now);
  /// Takes over a history kept elsewhere: `restarts` so far, the last of them at `last_restart`.
  void Recover(int restarts, os::MonoTime last_restart);
  int restarts() const { return restarts_; }  ///< in a row
  os::MonoTime last_restart() const { return last_restart_; }

 private:
  bool RanFine(os::MonoTime finished) const;

  BackoffOptions options_;
  int restarts_ = 0;  // in a row, since it last ran fine
  os::MonoTime last_restart_{};
};

}  // namespace berth::runtime

#endif  // BERTH_RUNTIME_LIFECYCLE_BACKOFF_H_
