// Eviction candidates when memory or processes of the node run short: by the rules of component eviction, with figures
// from the kernel.
#ifndef BERTH_NODE_RECONCILER_EVICTION_LOOK_H_
#define BERTH_NODE_RECONCILER_EVICTION_LOOK_H_

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/cgroup/cgroup.h"
#include "host/os/clock.h"
#include "model/kubelet_config.h"
#include "model/pod.h"
#include "node/cgroup_manager/enforcer.h"
#include "node/eviction/node_pressure.h"

namespace berth::reconciler {

/// The pod that has to go.
struct Victim {
  std::string uid;
  std::string message;              ///< figure, threshold and what it used
  std::optional<os::Millis> grace;  ///< at most so long
};

/// What a look at the node gave.
struct EvictionLook {
  std::optional<eviction::Met> met;  ///< a threshold to act on
  std::optional<Victim> victim;      ///< nullopt although `met`: nobody can help
};

/// Thread: the loop's only.
class Eviction {
 public:
  /// `groups` outlives this. `ignores_cache`: working sets are judged without any file pages, as rules/eviction#figures
  /// says. Errors: kInvalid naming the setting.
  static Result<Eviction> Make(const KubeletConfiguration& config, cgroup_manager::Enforcer& groups,
                               bool ignores_cache);

  /// Reads the figures and decides. `pods`: those that may go. Figures that cannot be read are left out.
  EvictionLook Look(const std::vector<const Pod*>& pods, os::MonoTime now);
  /// Why a pod of that class may not be admitted now; empty: it may.
  std::string WhyNotAdmit(const Pod& pod) const;
  /// When a threshold has to be looked at again, because its grace period is over then.
  std::optional<os::MonoTime> next_act() const;
  bool memory_pressure() const { return pressure_.memory_pressure(); }
  bool pid_pressure() const { return pressure_.pid_pressure(); }

 private:
  Eviction(const KubeletConfiguration& config, cgroup_manager::Enforcer& groups, bool ignores_cache,
           std::vector<eviction::Threshold> thresholds);
  std::optional<Bytes> UsedBy(const std::string& path) const;
  eviction::Observations Observe() const;
  eviction::Candidate CandidateOf(const Pod& pod) const;

  cgroup_manager::Enforcer& groups_;
  bool ignores_cache_;
  eviction::Pressure pressure_;
  os::Millis max_grace_;
};

}  // namespace berth::reconciler

#endif  // BERTH_NODE_RECONCILER_EVICTION_LOOK_H_
