#include "berth/age.h"

#include <algorithm>

namespace berth::cli {

std::string FormatAge(std::optional<WallTime> since, WallTime now) {
  if (!since) return {};
  const auto seconds =
      std::max<std::int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(now - *since).count());
  if (seconds < 120) return std::to_string(seconds) + "s";
  const std::int64_t minutes = seconds / 60;
  if (minutes < 120) return std::to_string(minutes) + "m";
  const std::int64_t hours = minutes / 60;
  if (hours < 10 && minutes % 60 != 0) return std::to_string(hours) + "h" + std::to_string(minutes % 60) + "m";
  if (hours < 48) return std::to_string(hours) + "h";
  return std::to_string(hours / 24) + "d";
}

}  // namespace berth::cli
