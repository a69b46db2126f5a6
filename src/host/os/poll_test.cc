#include "host/os/poll.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "host/os/event_fd.h"

namespace berth::os {
namespace {

constexpr MonoTime kNow(std::chrono::seconds(1000));

TEST(PollTest, TimeIsInWholeMillisecondsRoundedUpSoThatNobodyLooksTooEarly) {
  EXPECT_EQ(PollTime(kNow, kNow + std::chrono::microseconds(1)), 1);
  EXPECT_EQ(PollTime(kNow, kNow + std::chrono::milliseconds(7)), 7);
}

TEST(PollTest, TimeOfADeadlineThatPassedIsNoneAtAll) { EXPECT_EQ(PollTime(kNow, kNow - std::chrono::hours(1)), 0); }

TEST(PollTest, TimeWithoutADeadlineIsForEverAndOfADistantOneAMinute) {
  EXPECT_EQ(PollTime(kNow, std::nullopt), -1);
  EXPECT_EQ(PollTime(kNow, kNow + std::chrono::years(200)), 60'000);
}

TEST(PollTest, LooksOnceEvenAfterTheDeadline) {
  const auto event = EventFd::Open();
  ASSERT_TRUE(event);
  event->Signal();
  const auto seen = WaitFor(event->get(), POLLIN, SystemClock().Now() - Millis(5));
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_TRUE(*seen);
}

TEST(PollTest, WhatDoesNotHappenEndsAtTheDeadlineAndNotBefore) {
  const auto event = EventFd::Open();
  ASSERT_TRUE(event);
  const MonoTime deadline = SystemClock().Now() + Millis(20);
  const auto seen = WaitFor(event->get(), POLLIN, deadline);
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_FALSE(*seen);
  EXPECT_GE(SystemClock().Now(), deadline);
}

}  // namespace
}  // namespace berth::os
