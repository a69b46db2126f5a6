#include "model/eviction_threshold.h"

#include <charconv>
#include <utility>

#include "base/problems.h"
#include "base/text.h"

namespace berth {
namespace {

Result<std::optional<float>> ParsePercent(const std::string& where, std::string_view signal, std::string_view text) {
  float percent = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size() - 1;  // without the sign
  const auto [ptr, ec] = std::from_chars(begin, end, percent);
  if (ec != std::errc() || ptr != end)
    return BadSetting(where, "\"" + Printable(text) + "\" is not a percentage like \"10%\"");
  if (!(percent >= 0) || percent > 100)
    return BadSetting(where, "eviction percentage threshold " + std::string(signal) + " must be " +
                                 (percent > 100 ? "<= 100%: " : ">= 0%: ") + Printable(text));
  if (percent == 0.0F || percent == 100.0F) return std::optional<float>();
  return std::optional(percent / 100);
}

}  // namespace

std::map<std::string, std::string> HardEviction(const KubeletConfiguration& config) {
  auto out = config.eviction_hard.value_or(std::map<std::string, std::string>());
  if (!config.eviction_hard || config.merge_default_eviction_settings) out.emplace("memory.available", "100Mi");
  return out;
}

Result<std::optional<EvictionThreshold>> ParseEvictionThreshold(std::string_view setting, std::string_view signal,
                                                                std::string_view text) {
  const std::string where = std::string(setting) + "[\"" + std::string(signal) + "\"]";
  if (text.ends_with('%')) {
    BERTH_TRY(const std::optional<float> share, ParsePercent(where, signal, text));
    return share ? std::optional(EvictionThreshold{.amount = {}, .share = share}) : std::nullopt;
  }
  auto amount = Quantity::Parse(text);
  if (!amount) return BadSetting(where, amount.error().message);
  if (amount->Sign() <= 0)
    return BadSetting(where, "eviction threshold " + std::string(signal) + " must be positive: " + amount->ToString());
  return std::optional(EvictionThreshold{.amount = *std::move(amount), .share = std::nullopt});
}

std::int64_t ShareOf(float share, std::int64_t capacity) {
  return static_cast<std::int64_t>(static_cast<double>(capacity) * static_cast<double>(share));
}

}  // namespace berth
