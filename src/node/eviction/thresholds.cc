#include "node/eviction/thresholds.h"

#include <fmt/core.h>

#include <array>
#include <map>
#include <utility>

#include "base/duration.h"
#include "base/problems.h"
#include "base/quantity.h"
#include "base/suggest.h"
#include "base/text.h"
#include "model/eviction_threshold.h"

namespace berth::eviction {
namespace {

using Settings = std::map<std::string, std::string>;

constexpr std::array<std::string_view, 9> kSignals = {
    "memory.available",   "allocatableMemory.available", "pid.available",
    "nodefs.available",   "nodefs.inodesFree",           "imagefs.available",
    "imagefs.inodesFree", "containerfs.available",       "containerfs.inodesFree"};

/// nullopt: a signal Berth does not watch.
std::optional<Signal> Watched(std::string_view name) {
  for (const Signal signal : {Signal::kMemory, Signal::kAllocatableMemory, Signal::kPids})
    if (Name(signal) == name) return signal;
  return std::nullopt;
}

Result<void> CheckSignal(std::string_view setting, std::string_view name) {
  for (const std::string_view known : kSignals)
    if (known == name) return {};
  const std::string_view nearest = Nearest(name, kSignals);
  return BadSetting(setting, fmt::format("unsupported eviction signal {}{}", Printable(name, 60),
                                         nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest)));
}

/// nullopt: 0% or 100%, which the kubelet drops.
Result<std::optional<Amount>> ParseAmount(std::string_view setting, std::string_view name, std::string_view text) {
  BERTH_TRY(const auto threshold, ParseEvictionThreshold(setting, name, text));
  if (!threshold) return std::nullopt;
  return Amount{.units = threshold->amount.Value(), .share = threshold->share};
}

/// Minimum reclaims may be zero.
Result<Amount> ReclaimOf(const KubeletConfiguration& config, const std::string& name) {
  const auto it = config.eviction_minimum_reclaim.find(name);
  if (it == config.eviction_minimum_reclaim.end()) return Amount();
  if (const auto amount = Quantity::Parse(it->second); amount && amount->IsZero()) return Amount();
  BERTH_TRY(const auto amount, ParseAmount("evictionMinimumReclaim", name, it->second));
  return amount.value_or(Amount());
}

Result<std::chrono::milliseconds> GraceOf(const KubeletConfiguration& config, const std::string& name) {
  const auto it = config.eviction_soft_grace_period.find(name);
  if (it == config.eviction_soft_grace_period.end())
    return BadSetting("evictionSoftGracePeriod", fmt::format("grace period must be specified for the soft "
                                                             "eviction threshold {}",
                                                             Printable(name, 60)));
  auto grace = ParseDuration(it->second);
  const std::string where = fmt::format("evictionSoftGracePeriod[\"{}\"]", name);
  if (!grace) return BadSetting(where, grace.error().message);
  if (grace->count() <= 0) return BadSetting(where, "must be positive: " + it->second);
  return std::chrono::duration_cast<std::chrono::milliseconds>(*grace);
}

/// Puts what is watched into `out`.
Result<void> AddThreshold(const KubeletConfiguration& config, bool hard, const std::string& name,
                          const std::string& text, std::vector<Threshold>& out) {
  const std::string_view setting = hard ? "evictionHard" : "evictionSoft";
  BERTH_RETURN_IF_ERROR(CheckSignal(setting, name));
  BERTH_TRY(const auto least, ParseAmount(setting, name, text));
  Threshold threshold{.signal = Signal::kMemory, .hard = hard, .least = {}, .grace = {}, .reclaim = {}};
  BERTH_TRY(threshold.reclaim, ReclaimOf(config, name));
  if (!hard) {
    BERTH_TRY(threshold.grace, GraceOf(config, name));
  }
  const auto signal = Watched(name);
  if (!signal || !least) return {};
  threshold.signal = *signal;
  threshold.least = *least;
  out.push_back(threshold);
  return {};
}

/// Entries of the other two maps, whether a threshold has them or not.
void CheckOthers(const KubeletConfiguration& config, Problems& problems) {
  for (const auto& [name, text] : config.eviction_soft_grace_period)
    if (problems.Take(CheckSignal("evictionSoftGracePeriod", name))) problems.Take(GraceOf(config, name));
  for (const auto& [name, text] : config.eviction_minimum_reclaim)
    if (problems.Take(CheckSignal("evictionMinimumReclaim", name))) problems.Take(ReclaimOf(config, name));
}

}  // namespace

std::string_view Name(Signal signal) {
  switch (signal) {
    case Signal::kMemory: return "memory.available";
    case Signal::kAllocatableMemory: return "allocatableMemory.available";
    case Signal::kPids: return "pid.available";
  }
  return "";
}

std::string_view Resource(Signal signal) { return signal == Signal::kPids ? "pids" : "memory"; }

std::int64_t Amount::Of(std::int64_t capacity) const { return share ? ShareOf(*share, capacity) : units; }

Result<std::vector<Threshold>> ReadThresholds(const KubeletConfiguration& config) {
  std::vector<Threshold> out;
  Problems problems;
  for (const auto& [name, text] : HardEviction(config)) problems.Take(AddThreshold(config, true, name, text, out));
  for (const std::string& enforced : config.enforce_node_allocatable) {
    if (enforced != "pods") continue;
    const std::vector<Threshold> hard = out;
    for (Threshold threshold : hard) {
      if (threshold.signal != Signal::kMemory) continue;
      threshold.signal = Signal::kAllocatableMemory;
      out.push_back(threshold);
    }
  }
  for (const auto& [name, text] : config.eviction_soft) problems.Take(AddThreshold(config, false, name, text, out));
  CheckOthers(config, problems);
  BERTH_RETURN_IF_ERROR(problems.Done());
  return out;
}

HugePageCounting HugePageCountingOf(const KubeletConfiguration& config, const KubeletRules& rules) {
  if (rules.huge_pages_in_use) return HugePageCounting::kInUse;
  return FeatureEnabled(config, "HugepageAwareEviction", rules.version) ? HugePageCounting::kApart
                                                                        : HugePageCounting::kAvailable;
}

}  // namespace berth::eviction
