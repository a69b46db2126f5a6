// Points in time as text: in answers, logs and records. Pure.
#ifndef BERTH_BASE_TIME_TEXT_H_
#define BERTH_BASE_TIME_TEXT_H_

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace berth {

/// Of the wall clock.
using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>;

/// RFC 3339 in UTC with microseconds, what is below is cut off: "2026-01-02T03:04:05.123456Z".
std::string FormatTime(WallTime t);

/// RFC 3339 in UTC with nanoseconds, always nine digits: "2026-01-02T03:04:05.123456789Z".
std::string FormatNanoTime(WallTime t);

/// RFC 3339 with any number of fraction digits (beyond nine ignored), "Z" or an offset. nullopt for anything else and
/// for years outside 1970 .. 2200.
std::optional<WallTime> ParseTime(std::string_view text);

}  // namespace berth

#endif  // BERTH_BASE_TIME_TEXT_H_
