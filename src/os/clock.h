// Time as a value. Logic takes time points as arguments; only main loops ask a Clock.
#ifndef BERTH_OS_CLOCK_H_
#define BERTH_OS_CLOCK_H_

#include <chrono>

#include "base/time_text.h"

namespace berth::os {

using Millis = std::chrono::milliseconds;
using MonoTime = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;
using berth::FormatTime;
using berth::WallTime;

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

}  // namespace berth::os

#endif  // BERTH_OS_CLOCK_H_
