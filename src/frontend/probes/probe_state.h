// Probe state of one probe of one running container: the next time it is due, success and failure thresholds.
// Pure: no clock, no I/O.
#ifndef BERTH_FRONTEND_PROBES_PROBE_STATE_H_
#define BERTH_FRONTEND_PROBES_PROBE_STATE_H_

#include <optional>

#include "host/os/clock.h"
#include "model/pod.h"

namespace berth::probes {

/// As the kubelet counts: equal answers in a row, against successThreshold and failureThreshold. Value type; not
/// thread-safe. Times given must not go backwards.
class ProbeState {
 public:
  /// `first`: when it is asked first.
  ProbeState(const Probe& probe, os::MonoTime first)
      : period_(std::chrono::seconds(probe.period_s)),
        successes_(probe.success_threshold),
        failures_(probe.failure_threshold),
        next_(first) {}

  /// When it is to be asked (again).
  os::MonoTime due() const { return next_; }
  /// It is being asked: next a period after it was due, or after now where it is late by a period or more.
  void Asked(os::MonoTime now);
  /// What came of it. nullopt: not enough answers in a row agree yet, what was true stays so.
  std::optional<bool> Take(bool success);

 private:
  os::Millis period_;
  int successes_;
  int failures_;
  os::MonoTime next_;
  std::optional<bool> last_;
  int in_a_row_ = 0;  // capped by the thresholds
};

}  // namespace berth::probes

#endif  // BERTH_FRONTEND_PROBES_PROBE_STATE_H_
