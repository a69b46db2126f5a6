#include "runtime/lifecycle/backoff.h"

#include <gtest/gtest.h>

#include <vector>

namespace berth::runtime {
namespace {

using std::chrono::seconds;

os::MonoTime At(int s) { return os::MonoTime(seconds(s)); }

TEST(BackoffTest, DelayDoublesUpToTheMaximum) {
  std::vector<long> seen;
  for (int n = 0; n < 9; ++n) seen.push_back(BackoffDelay(n, {}).count() / 1000);
  EXPECT_EQ(seen, (std::vector<long>{0, 10, 20, 40, 80, 160, 300, 300, 300}));
  EXPECT_EQ(BackoffDelay(1'000'000, {}), seconds(300));
}

TEST(BackoffTest, MaximumBelowTheInitialDelayLowersIt) {
  EXPECT_EQ(BackoffDelay(1, {.max = os::Millis(2000)}), seconds(2));
  EXPECT_EQ(BackoffDelay(5, {.max = os::Millis(2000)}), seconds(2));
}

TEST(BackoffTest, FirstRestartIsImmediateAndLaterOnesWaitAfterTheEnd) {
  Backoff backoff;
  EXPECT_EQ(backoff.RestartAt(At(5)), At(5));
  backoff.Restarted(At(5), At(5));
  EXPECT_EQ(backoff.RestartAt(At(6)), At(16));
  backoff.Restarted(At(6), At(16));
  EXPECT_EQ(backoff.RestartAt(At(17)), At(37));
}

TEST(BackoffTest, RunningForMoreThanTwiceTheMaximumStartsOver) {
  Backoff backoff;
  for (int i = 0; i < 5; ++i) backoff.Restarted(At(1), At(1));
  EXPECT_EQ(backoff.Delay(At(601)), seconds(160)) << "exactly twice the maximum is not more";
  EXPECT_EQ(backoff.Delay(At(602)), seconds(0));
  backoff.Restarted(At(602), At(602));
  EXPECT_EQ(backoff.Delay(At(603)), seconds(10));
}

TEST(BackoffTest, RecoveredHistoryGoesOn) {
  Backoff backoff;
  backoff.Recover(3, At(-20));
  EXPECT_EQ(backoff.RestartAt(At(0)), At(40));
  backoff.Recover(3, At(-700));
  EXPECT_EQ(backoff.RestartAt(At(0)), At(0));
}

}  // namespace
}  // namespace berth::runtime
