#include "host/event_loop/away_time.h"

#include <gtest/gtest.h>

#include "base/loop_thread.h"

namespace berth::event_loop {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

os::MonoTime At(milliseconds since_zero) { return os::MonoTime(since_zero); }

/// One turn with one call of that length.
void Turn(AwayTime& away, milliseconds at, milliseconds time, std::string_view what) {
  loop_thread.Claim();
  away.Begin(At(at));
  away.Call(At(at), what);
  away.End(At(at + time));
}

TEST(AwayTimeTest, NamesTheLongestCallOfTheLongestTurn) {
  loop_thread.Claim();
  AwayTime away;
  away.Begin(At(milliseconds(100)));
  away.Call(At(milliseconds(101)), "runtime");
  away.Call(At(milliseconds(104)), "sync");
  away.Call(At(milliseconds(111)), "source");
  away.End(At(milliseconds(113)));
  Turn(away, milliseconds(200), milliseconds(12), "signal");
  const AwayFigures figures = away.Read(At(milliseconds(300)));
  EXPECT_EQ(2U, figures.turns);
  EXPECT_EQ((Absence{.time = milliseconds(13), .what = "sync"}), figures.longest);
  EXPECT_EQ(figures.longest, figures.longest_lately);
  EXPECT_EQ(Absence(), figures.now);
}

TEST(AwayTimeTest, ForgetsAfterAMinuteWhatWasLongLately) {
  AwayTime away;
  Turn(away, milliseconds(0), milliseconds(90), "start");
  Turn(away, seconds(30), milliseconds(40), "sync");
  EXPECT_EQ("start", away.Read(At(seconds(59))).longest_lately.what);
  EXPECT_EQ((Absence{.time = milliseconds(40), .what = "sync"}), away.Read(At(seconds(80))).longest_lately);
  EXPECT_EQ(Absence(), away.Read(At(seconds(120))).longest_lately);
  Turn(away, seconds(120), milliseconds(1), "timer");  // in the place of an old span
  EXPECT_EQ("timer", away.Read(At(seconds(120))).longest_lately.what);
  EXPECT_EQ("start", away.Read(At(seconds(120))).longest.what);
}

TEST(AwayTimeTest, TellsWhatTheLoopIsAtNow) {
  loop_thread.Claim();
  AwayTime away;
  away.Begin(At(milliseconds(10)));
  away.Call(At(milliseconds(12)), "runtime");
  EXPECT_EQ((Absence{.time = milliseconds(50), .what = "runtime"}), away.Read(At(milliseconds(60))).now);
}

}  // namespace
}  // namespace berth::event_loop
