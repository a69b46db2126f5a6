// Relative time formatting ("5m", "3h20m") for tables.
#ifndef BERTH_CMD_BERTH_AGE_H_
#define BERTH_CMD_BERTH_AGE_H_

#include <optional>
#include <string>

#include "base/time_text.h"

namespace berth::cli {

/// "12s", "5m", "3h20m", "4d": from `since` to `now`; "" for no time, "0s" for the future.
std::string FormatAge(std::optional<WallTime> since, WallTime now);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_AGE_H_
