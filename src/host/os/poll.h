// Waiting for one descriptor: poll(2) with a deadline that signals and long times do not move.
#ifndef BERTH_HOST_OS_POLL_H_
#define BERTH_HOST_OS_POLL_H_

#include <optional>

#include "base/result.h"
#include "host/os/clock.h"

namespace berth::os {

/// What poll(2) takes as its timeout: milliseconds until `deadline`, rounded up, a minute at most; -1 without one.
int PollTime(MonoTime now, std::optional<MonoTime> deadline);

/// Waits until `fd` has one of `events` (poll(2)), or an error or its end; looks at least once. False: `deadline`
/// passed (nullopt: never). Errors: of poll(2).
Result<bool> WaitFor(int fd, short events, std::optional<MonoTime> deadline);

}  // namespace berth::os

#endif  // BERTH_HOST_OS_POLL_H_
