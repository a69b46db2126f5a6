// Pods that have to go because the node runs short of memory or processes.
#ifndef BERTH_GUARD_PRESSURE_GUARD_H_
#define BERTH_GUARD_PRESSURE_GUARD_H_

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "guard/eviction.h"
#include "pods/parts.h"

namespace berth::guard {

/// Thread: the loop's only.
class Pressure {
 public:
  explicit Pressure(const pods::Parts& parts) : parts_(parts) {}

  /// At the start, once groups are there. Errors: kInvalid naming the setting.
  Result<void> Begin();
  /// The kernel says that memory runs short.
  void LookSoon(os::MonoTime now) { next_ = std::min(next_, now); }
  /// Looks, if it is time for it, and evicts one pod at a time. Before anything is admitted.
  void Check(os::MonoTime now);
  os::MonoTime next_due() const { return next_; }
  /// Why a pod may not be admitted now; "": it may.
  std::string WhyNotAdmit(const Pod& pod) const;
  bool memory() const { return eviction_ && eviction_->memory_pressure(); }
  bool pids() const { return eviction_ && eviction_->pid_pressure(); }

 private:
  void Report(std::string_view what, bool before, bool now);
  void Evict(const EvictionLook& look, os::MonoTime now);

  pods::Parts parts_;
  std::optional<Eviction> eviction_;  // from Begin on
  os::MonoTime next_{};
};

}  // namespace berth::guard

#endif  // BERTH_GUARD_PRESSURE_GUARD_H_
