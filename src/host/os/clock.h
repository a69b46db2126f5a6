// Time as a value. Logic takes time points as arguments; only main loops ask a Clock.
#ifndef BERTH_HOST_OS_CLOCK_H_
#define BERTH_HOST_OS_CLOCK_H_

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

/// A piece of time for work that can be done in pieces: it stops at the next good place once the slice is over, and
/// goes on there when it is called again. At least one step is done in each.
class Slice {
 public:
  /// As long as it takes.
  Slice() : clock_(SystemClock()), end_(MonoTime::max()) {}
  /// `clock` outlives the slice.
  Slice(const Clock& clock, MonoTime end) : clock_(clock), end_(end) {}
  bool bounded() const { return end_ != MonoTime::max(); }
  bool over() const { return bounded() && clock_.Now() >= end_; }

 private:
  const Clock& clock_;
  MonoTime end_;
};

/// Blocks the calling thread; for short waits on the kernel, never for timers.
void SleepFor(Millis time);

}  // namespace berth::os

#endif  // BERTH_HOST_OS_CLOCK_H_
