#include "host/os/clock.h"

#include <gtest/gtest.h>

#include "testing/fixtures.h"

namespace berth::os {
namespace {

TEST(ClockTest, SystemClockDoesNotRunBackwards) {
  const MonoTime first = SystemClock().Now();
  EXPECT_LE(first, SystemClock().Now());
  EXPECT_GT(SystemClock().Wall(), WallTime(std::chrono::sys_days{std::chrono::year{2020} / 1 / 1}));
}

TEST(ClockTest, ManualClockMovesOnlyWhenTold) {
  testkit::ManualClock clock;
  const MonoTime start = clock.Now();
  EXPECT_EQ(start, clock.Now());
  clock.Advance(Millis(250));
  EXPECT_EQ(start + Millis(250), clock.Now());
}

}  // namespace
}  // namespace berth::os
