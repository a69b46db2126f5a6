#include "host/os/clock.h"

#include <thread>

namespace berth::os {
namespace {

class RealClock final : public Clock {
 public:
  MonoTime Now() const override { return std::chrono::steady_clock::now(); }
  WallTime Wall() const override { return std::chrono::system_clock::now(); }
};

}  // namespace

const Clock& SystemClock() {
  static const RealClock clock;
  return clock;
}

void SleepFor(Millis time) { std::this_thread::sleep_for(time); }

}  // namespace berth::os
