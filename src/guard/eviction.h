// Memory and processes of the node run short: who has to go, by the rules of room evict, with figures from the kernel.
#ifndef BERTH_GUARD_EVICTION_H_
#define BERTH_GUARD_EVICTION_H_

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cgroup/cgroup.h"
#include "enforce/enforcer.h"
#include "evict/node_pressure.h"
#include "model/kubelet_config.h"
#include "model/pod.h"
#include "os/clock.h"

namespace berth::guard {

/// The pod that has to go.
struct Victim {
  std::string uid;
  std::string message;              ///< figure, threshold and what it used
  std::optional<os::Millis> grace;  ///< at most so long
};

/// What a look at the node gave.
struct EvictionLook {
  std::optional<evict::Met> met;  ///< a threshold to act on
  std::optional<Victim> victim;   ///< nullopt although `met`: nobody can help
};

/// Thread: the loop's only.
class Eviction {
 public:
  /// `groups` outlives this. `ignores_cache`: working sets are judged without any file pages, as rules/eviction#figures
  /// says. Errors: kInvalid naming the setting.
  static Result<Eviction> Make(const KubeletConfiguration& config, enforce::Enforcer& groups, bool ignores_cache);

  /// Reads the figures and decides. `pods`: those that may go. Figures that cannot be read are left out.
  EvictionLook Look(const std::vector<const Pod*>& pods, os::MonoTime now);
  /// Why a pod of that class may not be admitted now; empty: it may.
  std::string WhyNotAdmit(const Pod& pod) const;
  /// When a threshold has to be looked at again, because its grace period is over then.
  std::optional<os::MonoTime> next_act() const;
  bool memory_pressure() const { return pressure_.memory_pressure(); }
  bool pid_pressure() const { return pressure_.pid_pressure(); }

 private:
  Eviction(const KubeletConfiguration& config, enforce::Enforcer& groups, bool ignores_cache,
           std::vector<evict::Threshold> thresholds);
  std::optional<Bytes> UsedBy(const std::string& path) const;
  evict::Observations Observe() const;
  evict::Candidate CandidateOf(const Pod& pod) const;

  enforce::Enforcer& groups_;
  bool ignores_cache_;
  evict::Pressure pressure_;
  os::Millis max_grace_;
};

}  // namespace berth::guard

#endif  // BERTH_GUARD_EVICTION_H_
