#include "base/time_text.h"

#include <gtest/gtest.h>

#include <random>

namespace berth {
namespace {

TEST(TimeTextTest, NanosecondsAreAlwaysNineDigits) {
  EXPECT_EQ(FormatNanoTime(WallTime{}), "1970-01-01T00:00:00.000000000Z");
  EXPECT_EQ(FormatNanoTime(WallTime(std::chrono::nanoseconds(1'767'323'045'000'000'007))),
            "2026-01-02T03:04:05.000000007Z");
}

TEST(TimeTextTest, PrintsUtcWithMicroseconds) {
  const WallTime t = std::chrono::sys_days{std::chrono::year{2026} / 1 / 2} + std::chrono::hours(3) +
                     std::chrono::minutes(4) + std::chrono::seconds(5) + std::chrono::microseconds(123456);
  EXPECT_EQ("2026-01-02T03:04:05.123456Z", FormatTime(t));
}

TEST(TimeTextTest, RoundsDownBelowAMicrosecondAlsoBefore1970) {
  EXPECT_EQ("1970-01-01T00:00:00.000000Z", FormatTime(WallTime(std::chrono::nanoseconds(999))));
  EXPECT_EQ("1969-12-31T23:59:59.999999Z", FormatTime(WallTime(std::chrono::nanoseconds(-1))));
}

TEST(TimeTextTest, ParsesFractionsAndOffsets) {
  const auto base = ParseTime("2026-01-02T03:04:05Z");
  ASSERT_TRUE(base);
  EXPECT_EQ(ParseTime("2026-01-02T03:04:05.5Z"), *base + std::chrono::milliseconds(500));
  EXPECT_EQ(ParseTime("2026-01-02T03:04:05.123456789987Z"), *base + std::chrono::nanoseconds(123456789));
  EXPECT_EQ(ParseTime("2026-01-02T05:34:05+02:30"), base);
  EXPECT_EQ(ParseTime("2026-01-01T20:04:05.0-07:00"), base);
  EXPECT_EQ(ParseTime(FormatTime(*base)), base);
}

TEST(TimeTextTest, RefusesEverythingElse) {
  for (const char* text :
       {"", "2026", "2026-01-02", "2026-01-02T03:04:05", "2026-01-02 03:04:05Z", "2026-13-02T03:04:05Z",
        "2026-02-30T03:04:05Z", "2026-01-02T24:04:05Z", "2026-01-02T03:04:05.Z", "2026-01-02T03:04:05Zx",
        "2026-01-02T03:04:05+2:30", "2026-01-02T03:04:05+24:00", "0000-01-02T03:04:05Z", "-026-01-02T03:04:05Z",
        "9999-01-02T03:04:05Z", "2026-01-02T03:04:05.1"}) {
    EXPECT_FALSE(ParseTime(text)) << text;
  }
}

TEST(TimeTextTest, WhatIsWrittenReadsBack) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 2000; ++i) {
    const WallTime t(std::chrono::nanoseconds(static_cast<std::int64_t>(random() % 7'000'000'000'000'000'000ULL)));
    EXPECT_EQ(ParseTime(FormatNanoTime(t)), t) << FormatNanoTime(t);
  }
}

}  // namespace
}  // namespace berth
