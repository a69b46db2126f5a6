// Eviction thresholds as settings write them (rules/eviction#thresholds). Pure.
#ifndef BERTH_MODEL_EVICTION_THRESHOLD_H_
#define BERTH_MODEL_EVICTION_THRESHOLD_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/quantity.h"
#include "base/result.h"
#include "model/kubelet_config.h"

namespace berth {

/// An amount, or a share of the capacity.
struct EvictionThreshold {
  Quantity amount;             ///< counts when there is no share
  std::optional<float> share;  ///< 0.1 for "10%"; the kubelet keeps 32 bits, which shows (rules/eviction#percentages)
};

/// evictionHard by signal, with the defaults where these are in force.
std::map<std::string, std::string> HardEviction(const KubeletConfiguration& config);

/// nullopt: 0% or 100%, which the kubelet drops. Errors: kInvalid naming `setting` and `signal`.
Result<std::optional<EvictionThreshold>> ParseEvictionThreshold(std::string_view setting, std::string_view signal,
                                                                std::string_view text);

/// In units, rounded down.
std::int64_t ShareOf(float share, std::int64_t capacity);

}  // namespace berth

#endif  // BERTH_MODEL_EVICTION_THRESHOLD_H_
