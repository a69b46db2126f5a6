// Event loop latency: the time of each turn that the loop spent away from its descriptors, when nothing new could be
// answered, and its longest callback.
#ifndef BERTH_HOST_EVENT_LOOP_AWAY_TIME_H_
#define BERTH_HOST_EVENT_LOOP_AWAY_TIME_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/histogram.h"
#include "base/loop_thread.h"
#include "base/mutex.h"
#include "host/os/clock.h"

namespace berth::event_loop {

/// One turn of the loop, and which of its callbacks took longest.
struct Absence {
  std::chrono::nanoseconds time{0};
  std::string what;
  friend bool operator==(const Absence&, const Absence&) = default;
};

struct AwayFigures {
  std::uint64_t turns = 0;
  Absence longest;         ///< since the start
  Absence longest_lately;  ///< within the last minute
  Absence now;             ///< of the turn under way; no time: the loop waits
  Histogram seconds;       ///< of turns that have ended
};

/// Up to which times turns are counted, in seconds.
inline constexpr std::array kTurnBounds = {0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01,
                                           0.02,   0.05,   0.1,    0.2,   0.5,   1.0};

/// Thread: Begin, Call and End from the loop's only, Read from any.
class AwayTime {
 public:
  /// A turn begins.
  void Begin(os::MonoTime now) BERTH_REQUIRES(loop_thread) BERTH_EXCLUDES(mutex_);
  /// The loop calls this callback; it ends with the next Call or with End.
  void Call(os::MonoTime now, std::string_view what) BERTH_REQUIRES(loop_thread) BERTH_EXCLUDES(mutex_);
  void End(os::MonoTime now) BERTH_REQUIRES(loop_thread) BERTH_EXCLUDES(mutex_);

  AwayFigures Read(os::MonoTime now) const BERTH_EXCLUDES(mutex_);

 private:
  static constexpr std::chrono::seconds kSpan{5};
  static constexpr std::size_t kSpans = 13;  // a minute, whatever part of the current span has passed
  struct Span {
    std::int64_t number = -1;  // since the clock's zero
    Absence longest;
  };
  static std::int64_t NumberOf(os::MonoTime time) { return time.time_since_epoch() / kSpan; }
  void EndCall(os::MonoTime now) BERTH_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::uint64_t turns_ BERTH_GUARDED_BY(mutex_) = 0;
  bool away_ BERTH_GUARDED_BY(mutex_) = false;
  os::MonoTime turn_began_ BERTH_GUARDED_BY(mutex_){};
  os::MonoTime call_began_ BERTH_GUARDED_BY(mutex_){};
  std::string call_ BERTH_GUARDED_BY(mutex_);      // under way
  Absence longest_call_ BERTH_GUARDED_BY(mutex_);  // of this turn
  Absence longest_ BERTH_GUARDED_BY(mutex_);
  std::array<Span, kSpans> spans_ BERTH_GUARDED_BY(mutex_);
  Histogram seconds_ BERTH_GUARDED_BY(mutex_){kTurnBounds};
};

}  // namespace berth::event_loop

#endif  // BERTH_HOST_EVENT_LOOP_AWAY_TIME_H_
