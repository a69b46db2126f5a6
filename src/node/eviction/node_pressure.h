// Node-pressure eviction: met thresholds, node conditions and the ranking of pods, given figures and times
// (rules/eviction#met, rules/eviction#rank). Pure.
#ifndef BERTH_NODE_EVICTION_NODE_PRESSURE_H_
#define BERTH_NODE_EVICTION_NODE_PRESSURE_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "node/eviction/thresholds.h"

namespace berth::eviction {

using Time = std::chrono::nanoseconds;  ///< of a clock that never goes back

struct Observation {
  std::int64_t available = 0;
  std::int64_t capacity = 0;
};
using Observations = std::map<Signal, Observation>;

/// A threshold that calls for an eviction now, with the figures it was met by.
struct Met {
  Threshold threshold;
  std::int64_t least = 0;  ///< the threshold in units
  std::int64_t available = 0;
};

/// Remembers which thresholds are met and since when.
class Pressure {
 public:
  /// `transition`: how long a condition stays after it was last seen.
  Pressure(std::vector<Threshold> thresholds, std::chrono::milliseconds transition);

  /// Takes new figures. The first threshold to act on: met, and for as long as its grace period; memory before pids.
  /// nullopt: none.
  std::optional<Met> Look(const Observations& seen, Time now);
  /// When a threshold that is met now will have been met for its grace period; nullopt: none is waiting for that.
  std::optional<Time> next_act() const { return next_act_; }
  /// MemoryPressure, PIDPressure: some threshold was met within the transition period. Kept from the last Look.
  bool memory_pressure() const { return memory_; }
  bool pid_pressure() const { return pids_; }
  const std::vector<Threshold>& thresholds() const { return thresholds_; }

 private:
  struct State {
    std::optional<Time> since;  ///< met without a break
    std::optional<Time> last;   ///< last seen met
  };
  std::vector<Threshold> thresholds_;
  std::vector<State> states_;
  Time transition_;
  std::optional<Time> next_act_;
  bool memory_ = false;
  bool pids_ = false;
};

/// A pod as eviction sees it.
struct Candidate {
  std::string uid;
  std::int32_t priority = 0;
  bool critical = false;              ///< never evicted
  std::int64_t request = 0;           ///< memory, of the whole pod
  std::optional<std::int64_t> usage;  ///< working set; nullopt: not known
  std::int64_t processes = 0;
};

/// Evictable ones whose end would give anything of `signal` back, first to go first: memory by unknown usage, usage
/// above request, priority, and how far above; pids by priority and number. Equal ones by uid.
std::vector<Candidate> Rank(Signal signal, std::vector<Candidate> pods);

/// "The node was low on resource: memory. Threshold quantity: 104857600, available: 52428800. …" with the victim's own
/// figures.
std::string Message(const Met& met, const Candidate& victim);

}  // namespace berth::eviction

#endif  // BERTH_NODE_EVICTION_NODE_PRESSURE_H_
