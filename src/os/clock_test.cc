#include "os/clock.h"

#include <gtest/gtest.h>

#include "testing/fixtures.h"

namespace berth::os {
namespace {

using std::chrono::sys_days;
using std::chrono::year;

TEST(ClockTest, PrintsUtcWithMicroseconds) {
  const WallTime t = sys_days{year{2026} / 1 / 2} + std::chrono::hours(3) + std::chrono::minutes(4) +
                     std::chrono::seconds(5) + std::chrono::microseconds(123456);
  EXPECT_EQ("2026-01-02T03:04:05.123456Z", FormatTime(t));
}

TEST(ClockTest, RoundsDownBelowAMicrosecondAlsoBefore1970) {
  EXPECT_EQ("1970-01-01T00:00:00.000000Z", FormatTime(WallTime(std::chrono::nanoseconds(999))));
  EXPECT_EQ("1969-12-31T23:59:59.999999Z", FormatTime(WallTime(std::chrono::nanoseconds(-1))));
}

TEST(ClockTest, SystemClockDoesNotRunBackwards) {
  const MonoTime first = SystemClock().Now();
  EXPECT_LE(first, SystemClock().Now());
  EXPECT_GT(SystemClock().Wall(), WallTime(sys_days{year{2020} / 1 / 1}));
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
