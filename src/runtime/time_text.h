// Points in time as text in logs and records.
#ifndef BERTH_RUNTIME_TIME_TEXT_H_
#define BERTH_RUNTIME_TIME_TEXT_H_

#include <optional>
#include <string>
#include <string_view>

#include "os/clock.h"

namespace berth::runtime {

/// RFC 3339 in UTC with nanoseconds, always nine digits: "2026-01-02T03:04:05.123456789Z".
std::string FormatNanoTime(os::WallTime t);

/// RFC 3339 with any number of fraction digits (beyond nine ignored), "Z" or an offset. nullopt for anything else and
/// for years outside 1970 .. 2200.
std::optional<os::WallTime> ParseTime(std::string_view text);

}  // namespace berth::runtime

#endif  // BERTH_RUNTIME_TIME_TEXT_H_
