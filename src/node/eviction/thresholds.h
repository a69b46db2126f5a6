// Eviction settings of KubeletConfiguration: thresholds, and what counts as available (rules/eviction). Pure.
#ifndef BERTH_NODE_EVICTION_THRESHOLDS_H_
#define BERTH_NODE_EVICTION_THRESHOLDS_H_

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/kubelet_config.h"
#include "model/kubelet_rules.h"

namespace berth::eviction {

/// What Berth watches. The kubelet's signals about file systems are accepted and not watched: Berth manages no disks.
enum class Signal { kMemory, kAllocatableMemory, kPids };
std::string_view Name(Signal signal);      ///< "memory.available", "allocatableMemory.available", "pid.available"
std::string_view Resource(Signal signal);  ///< "memory", "pids"

/// An amount, or a share of the capacity.
struct Amount {
  std::int64_t units = 0;
  std::optional<float> share;  ///< 0.1 for "10%"; the kubelet keeps 32 bits, which shows in the result
  /// In units, rounded down.
  std::int64_t Of(std::int64_t capacity) const;
  friend bool operator==(const Amount&, const Amount&) = default;
};

struct Threshold {
  Signal signal = Signal::kMemory;
  bool hard = true;
  Amount least;                        ///< met when less than this is available
  std::chrono::milliseconds grace{0};  ///< soft: how long it must be met
  Amount reclaim;                      ///< once met, stays met until so much more is available
  friend bool operator==(const Threshold&, const Threshold&) = default;
};

/// All thresholds in force, hard ones before soft ones. A hard one of memory stands for the group of all pods too when
/// "pods" is enforced. Errors: kInvalid naming the setting, all problems, one a line.
Result<std::vector<Threshold>> ReadThresholds(const KubeletConfiguration& config);

/// How what the host has set aside for huge pages counts (rules/eviction#figures).
enum class HugePageCounting {
  kInUse,      ///< in its working set
  kAvailable,  ///< as what nobody uses
  kApart,      ///< neither: as if the host had less memory
};
HugePageCounting HugePageCountingOf(const KubeletConfiguration& config, const KubeletRules& rules);

}  // namespace berth::eviction

#endif  // BERTH_NODE_EVICTION_THRESHOLDS_H_
