// Time as a value. Logic takes time points as arguments; only main loops ask a Clock.
#ifndef BERTH_OS_CLOCK_H_
#define BERTH_OS_CLOCK_H_

#include <chrono>
#include <string>

namespace berth::os {

using Millis = std::chrono::milliseconds;
using MonoTime = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;
using WallTime = std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds>;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual MonoTime Now() const = 0;
  virtual WallTime Wall() const = 0;
};

/// The system's clocks.
const Clock& SystemClock();

/// Blocks the calling thread; for short waits on the kernel, never for timers.
void SleepFor(Millis time);

/// RFC 3339 in UTC with microseconds: "2026-01-02T03:04:05.123456Z".
std::string FormatTime(WallTime t);

}  // namespace berth::os

#endif  // BERTH_OS_CLOCK_H_
