// How long ago, for people.
#ifndef BERTH_CMD_BERTH_AGE_H_
#define BERTH_CMD_BERTH_AGE_H_

#include <string>
#include <string_view>

#include "os/clock.h"

namespace berth::cli {

/// "12s", "5m", "3h20m", "4d": from an RFC 3339 time to `now`; "" when the text is no time, "0s" for the future.
std::string FormatAge(std::string_view since, os::WallTime now);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_AGE_H_
