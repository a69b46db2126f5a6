#include "evict/thresholds.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <map>
#include <utility>

#include "base/quantity.h"
#include "base/text.h"
#include "manifest/duration.h"

namespace berth::evict {
namespace {

using Settings = std::map<std::string, std::string>;

constexpr std::array<std::string_view, 9> kSignals = {
    "memory.available",   "allocatableMemory.available", "pid.available",
    "nodefs.available",   "nodefs.inodesFree",           "imagefs.available",
    "imagefs.inodesFree", "containerfs.available",       "containerfs.inodesFree"};
constexpr std::string_view kDefaultMemory = "100Mi";

/// nullopt: a signal Berth does not watch.
std::optional<Signal> Watched(std::string_view name) {
  for (const Signal signal : {Signal::kMemory, Signal::kAllocatableMemory, Signal::kPids})
    if (Name(signal) == name) return signal;
  return std::nullopt;
}

Result<void> CheckSignal(std::string_view setting, std::string_view name) {
  for (const std::string_view known : kSignals)
    if (known == name) return {};
  return Fail(Code::kInvalid, fmt::format("{}: unsupported eviction signal {}", setting, Printable(name, 60)));
}

/// nullopt: 0% or 100%, which the kubelet drops.
Result<std::optional<Amount>> ParsePercent(const std::string& where, std::string_view name, std::string_view text) {
  float percent = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size() - 1;  // without the sign
  const auto [ptr, ec] = std::from_chars(begin, end, percent);
  if (ec != std::errc() || ptr != end)
    return Fail(Code::kInvalid, fmt::format("{}\"{}\" is not a percentage like \"10%\"", where, Printable(text, 60)));
  if (!(percent >= 0) || percent > 100)
    return Fail(Code::kInvalid, fmt::format("{}eviction percentage threshold {} must be {}: {}", where, name,
                                            percent > 100 ? "<= 100%" : ">= 0%", Printable(text, 60)));
  if (percent == 0.0F || percent == 100.0F) return std::optional<Amount>();
  return std::optional(Amount{.units = 0, .share = percent / 100});
}

Result<std::optional<Amount>> ParseAmount(std::string_view setting, std::string_view name, std::string_view text) {
  const std::string where = fmt::format("{}[\"{}\"]: ", setting, name);
  if (text.ends_with('%')) return ParsePercent(where, name, text);
  const auto amount = Quantity::Parse(text);
  if (!amount) return Wrap(amount.error(), where.substr(0, where.size() - 2));
  if (amount->Sign() <= 0)
    return Fail(Code::kInvalid,
                fmt::format("{}eviction threshold {} must be positive: {}", where, name, amount->ToString()));
  return std::optional(Amount{.units = amount->Value(), .share = std::nullopt});
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
    return Fail(Code::kInvalid, fmt::format("evictionSoftGracePeriod: grace period must be specified for the soft "
                                            "eviction threshold {}",
                                            name));
  auto grace = manifest::ParseDuration(it->second);
  if (!grace) return Wrap(std::move(grace).error(), fmt::format("evictionSoftGracePeriod[\"{}\"]", name));
  if (grace->count() <= 0)
    return Fail(Code::kInvalid, fmt::format("evictionSoftGracePeriod[\"{}\"]: must be positive: {}", name, it->second));
  return std::chrono::duration_cast<std::chrono::milliseconds>(*grace);
}

Settings HardSettings(const KubeletConfiguration& config) {
  Settings out = config.eviction_hard.value_or(Settings());
  if (!config.eviction_hard || config.merge_default_eviction_settings)
    out.emplace(Name(Signal::kMemory), kDefaultMemory);
  return out;
}

Result<void> Add(const KubeletConfiguration& config, bool hard, const Settings& settings, std::vector<Threshold>& out) {
  const std::string_view setting = hard ? "evictionHard" : "evictionSoft";
  for (const auto& [name, text] : settings) {
    BERTH_RETURN_IF_ERROR(CheckSignal(setting, name));
    BERTH_TRY(const auto least, ParseAmount(setting, name, text));
    Threshold threshold{.signal = Signal::kMemory, .hard = hard, .least = {}, .grace = {}, .reclaim = {}};
    BERTH_TRY(threshold.reclaim, ReclaimOf(config, name));
    if (!hard) {
      BERTH_TRY(threshold.grace, GraceOf(config, name));
    }
    const auto signal = Watched(name);
    if (!signal || !least) continue;
    threshold.signal = *signal;
    threshold.least = *least;
    out.push_back(threshold);
  }
  return {};
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

std::int64_t Amount::Of(std::int64_t capacity) const {
  if (!share) return units;
  return static_cast<std::int64_t>(static_cast<double>(capacity) * static_cast<double>(*share));
}

Result<std::vector<Threshold>> ReadThresholds(const KubeletConfiguration& config) {
  std::vector<Threshold> out;
  BERTH_RETURN_IF_ERROR(Add(config, true, HardSettings(config), out));
  for (const std::string& enforced : config.enforce_node_allocatable) {
    if (enforced != "pods") continue;
    const std::vector<Threshold> hard = out;
    for (Threshold threshold : hard) {
      if (threshold.signal != Signal::kMemory) continue;
      threshold.signal = Signal::kAllocatableMemory;
      out.push_back(threshold);
    }
  }
  BERTH_RETURN_IF_ERROR(Add(config, false, config.eviction_soft, out));
  return out;
}

}  // namespace berth::evict
