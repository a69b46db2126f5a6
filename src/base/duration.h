// Go's duration text: "1m0s", "100ms", "1.5h", "0".
#ifndef BERTH_BASE_DURATION_H_
#define BERTH_BASE_DURATION_H_

#include <chrono>
#include <string_view>

#include "base/result.h"

namespace berth {

/// sign? (digits [. digits] unit)+ with units ns, us, µs, ms, s, m, h; or "0". Finer than a nanosecond is cut off.
/// Errors: kInvalid, naming the text and what is wrong with it.
Result<std::chrono::nanoseconds> ParseDuration(std::string_view text);

}  // namespace berth

#endif  // BERTH_BASE_DURATION_H_
