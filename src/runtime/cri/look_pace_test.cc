#include "runtime/cri/look_pace.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace berth::cri {
namespace {

const os::MonoTime kPaceStart = os::MonoTime(std::chrono::hours(1));
constexpr os::Millis kUsual{1'000};

/// Looks that take no time, over `time`; `hear` is called before each millisecond.
template <class Hear>
std::vector<os::MonoTime> LooksIn(LookPace& pace, os::Millis time, bool answers, Hear hear) {
  std::vector<os::MonoTime> out;
  for (os::MonoTime now = kPaceStart; now < kPaceStart + time; now += os::Millis(1)) {
    hear(now);
    if (now < pace.next()) continue;
    pace.Begin();
    answers ? pace.Answered(now) : pace.Failed(now);
    out.push_back(now);
  }
  return out;
}

TEST(LookPaceTest, LooksOnceASecondWhenNothingGoesOn) {
  LookPace pace(kUsual);
  EXPECT_EQ(10U, LooksIn(pace, os::Millis(10'000), true, [](os::MonoTime) {}).size());
}

TEST(LookPaceTest, LooksOftenForAWhileWhenSomethingIsExpected) {
  LookPace pace(kUsual);
  const auto looks = LooksIn(pace, os::Millis(10'000), true, [&](os::MonoTime now) {
    if (now == kPaceStart) pace.Expect(now);
  });
  EXPECT_EQ(os::Millis(200), looks[1] - looks[0]);
  EXPECT_EQ(15U + 7U, looks.size());
}

TEST(LookPaceTest, LooksAtOnceWhenItHearsOfAChange) {
  LookPace pace(kUsual);
  pace.Answered(kPaceStart);
  pace.Hear();
  EXPECT_LE(pace.next(), kPaceStart + os::Millis(50));
  pace.Begin();
  pace.Answered(kPaceStart + os::Millis(50));
  EXPECT_EQ(kPaceStart + os::Millis(50) + kUsual, pace.next());
}

TEST(LookPaceTest, LooksForWhatHasToComeWithPausesThatGrow) {
  LookPace pace(kUsual);
  os::MonoTime now = kPaceStart;
  std::vector<os::MonoTime::duration> pauses;
  const auto look = [&](std::optional<bool> anew) {
    pace.Begin();
    if (anew) pace.Await(*anew);
    pace.Answered(now);
    pauses.push_back(pace.next() - now);
    now = pace.next();
  };
  look(true);
  for (int i = 0; i < 6; ++i) look(false);
  look(true);
  look(false);
  look(std::nullopt);
  std::vector<os::MonoTime::duration> expected;
  for (const int ms : {20, 40, 80, 160, 320, 500, 500, 20, 40, 1'000}) expected.emplace_back(os::Millis(ms));
  EXPECT_TRUE(pauses == expected);
}

TEST(LookPaceTest, MakesNoCrowdOfLooksOfACrowdOfWords) {
  LookPace pace(kUsual);
  const auto looks = LooksIn(pace, os::Millis(1'000), true, [&](os::MonoTime) { pace.Hear(); });
  EXPECT_LE(looks.size(), 50U);
}

TEST(LookPaceTest, BacksOffWhileThereIsNoAnswerWhateverItHears) {
  LookPace pace(kUsual);
  const auto looks = LooksIn(pace, os::Millis(60'000), false, [&](os::MonoTime now) {
    pace.Hear();
    pace.Expect(now);
  });
  ASSERT_GE(looks.size(), 6U);
  for (std::size_t i = 2; i < looks.size(); ++i) EXPECT_GE(looks[i] - looks[i - 1], looks[i - 1] - looks[i - 2]) << i;
  EXPECT_LE(looks.size(), 13U);
  EXPECT_TRUE(pace.failing());
  pace.Answered(kPaceStart);
  EXPECT_FALSE(pace.failing());
}

TEST(LookPaceTest, LooksOftenWhileNobodyIsThereToAnswer) {
  LookPace pace(kUsual);
  for (int i = 0; i < 20; ++i) pace.Failed(kPaceStart, /*refused=*/true);
  EXPECT_LE(pace.next(), kPaceStart + os::Millis(250));
  pace.Failed(kPaceStart);
  EXPECT_GT(pace.next(), kPaceStart + os::Millis(1'000)) << "it is there and does not answer";
}

}  // namespace
}  // namespace berth::cri
