#include "base/duration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace berth {
namespace {

using std::chrono::nanoseconds;
using testing::HasSubstr;
using namespace std::chrono_literals;

nanoseconds D(std::string_view text) {
  const auto d = ParseDuration(text);
  EXPECT_TRUE(d) << text;
  return d ? *d : nanoseconds(-1);
}

std::string ErrorOfDuration(std::string_view text) {
  const auto d = ParseDuration(text);
  return d ? "accepted" : d.error().message;
}

TEST(DurationTest, ReadsGoDurations) {
  EXPECT_EQ(D("0"), 0ns);
  EXPECT_EQ(D("1m0s"), 1min);
  EXPECT_EQ(D("100ms"), 100ms);
  EXPECT_EQ(D("1.5h"), 90min);
  EXPECT_EQ(D("2h45m"), 165min);
  EXPECT_EQ(D("1h2m3s4ms5us6ns"), 1h + 2min + 3s + 4ms + 5us + 6ns);
  EXPECT_EQ(D("7\xc2\xb5s"), 7us);
  EXPECT_EQ(D("-10s"), -10s);
  EXPECT_EQ(D("+10s"), 10s);
  EXPECT_EQ(D(".5s"), 500ms);
  EXPECT_EQ(D("5.s"), 5s);
  EXPECT_EQ(D("0.25ms"), 250us);
  EXPECT_EQ(D("0.000000001s"), 1ns);
  EXPECT_EQ(D("0.1h"), 6min);
  EXPECT_EQ(D("1.23456789012345678901234567890s"), 1234567890ns);
}

TEST(DurationTest, RefusesWhatIsNoDuration) {
  EXPECT_THAT(ErrorOfDuration(""), HasSubstr("it is empty"));
  EXPECT_THAT(ErrorOfDuration("10"), HasSubstr("the unit is missing"));
  EXPECT_THAT(ErrorOfDuration("10 s"), HasSubstr("unknown unit ' s'"));
  EXPECT_THAT(ErrorOfDuration("1d"), HasSubstr("unknown unit 'd'"));
  EXPECT_THAT(ErrorOfDuration("s"), HasSubstr("a number is missing"));
  EXPECT_THAT(ErrorOfDuration("."), HasSubstr("a number is missing"));
  EXPECT_THAT(ErrorOfDuration("-"), HasSubstr("a number is missing"));
  EXPECT_THAT(ErrorOfDuration("--1s"), HasSubstr("a number is missing"));
  EXPECT_THAT(ErrorOfDuration("1.2.3s"), HasSubstr("the unit is missing"));
  EXPECT_THAT(ErrorOfDuration("9999999999h"), HasSubstr("too long"));
  EXPECT_THAT(ErrorOfDuration("99999999999999999999s"), HasSubstr("too long"));
  EXPECT_THAT(ErrorOfDuration("2562047h47m16.9s"), HasSubstr("too long"));
}

}  // namespace
}  // namespace berth
