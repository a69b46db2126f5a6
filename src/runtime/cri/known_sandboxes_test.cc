#include "runtime/cri/known_sandboxes.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace berth::cri {
namespace {

using Ids = std::vector<std::string>;

const os::MonoTime kStart{};
constexpr os::Millis kSecond{1'000};

Sandbox Found(const std::string& id, bool ready, std::uint32_t attempt = 0) {
  return {.id = id, .uid = "pod", .attempt = attempt, .ready = ready};
}

TEST(KnownSandboxesTest, MakesTheFirstSandboxAndUsesItFromThenOn) {
  KnownSandboxes known;
  known.Want("pod");
  EXPECT_EQ(std::nullopt, known.Usable("pod"));
  const SandboxPlan plan = known.Plan("pod", {});
  EXPECT_EQ("", plan.use);
  EXPECT_EQ(0U, plan.attempt);
  known.Made("pod", "s", plan.attempt);
  EXPECT_EQ("s", known.Usable("pod"));
  EXPECT_EQ((std::map<std::string, std::string>{{"s", "pod"}}), known.Ready());
}

TEST(KnownSandboxesTest, UsesNoNameTwice) {
  KnownSandboxes known;
  known.Want("pod");
  known.NotMade("pod", 0);
  EXPECT_EQ(1U, known.Plan("pod", {}).attempt);
  EXPECT_EQ(8U, known.Plan("pod", {Found("old", false, 7)}).attempt);
}

TEST(KnownSandboxesTest, UsesOneThatIsReadyAndRemovesTheOthers) {
  KnownSandboxes known;
  known.Want("pod");
  const SandboxPlan plan =
      known.Plan("pod", {Found("dead", false), Found("a", true, 1), Found("b", true, 2), Found("dead2", false, 3)});
  EXPECT_EQ("a", plan.use);
  Ids removed;
  for (const Sandbox& sandbox : plan.remove) removed.push_back(sandbox.id);
  EXPECT_EQ((Ids{"dead", "b", "dead2"}), removed);
}

TEST(KnownSandboxesTest, AsksAfterACallWithoutAnAnswer) {
  KnownSandboxes known;
  known.Made("pod", "s", 0);
  known.Doubt("pod");
  EXPECT_TRUE(known.doubtful("pod"));
  EXPECT_EQ(std::nullopt, known.Usable("pod"));
  known.Sure("pod");
  EXPECT_EQ("s", known.Usable("pod"));
  known.DoubtAll();
  EXPECT_EQ(std::nullopt, known.Usable("pod"));
}

TEST(KnownSandboxesTest, AsksAboutWhatItFindsAtTheStart) {
  KnownSandboxes known;
  known.Recover({Found("new", true, 4), Found("old", false, 2)});
  EXPECT_EQ(std::nullopt, known.Usable("pod"));
  EXPECT_EQ((std::map<std::string, std::string>{{"new", "pod"}}), known.Ready());
  EXPECT_EQ(5U, known.Plan("pod", {}).attempt);
}

TEST(KnownSandboxesTest, TakesTheNewestForThePodsWhereNoneIsReady) {
  for (const bool newest_first : {true, false}) {
    KnownSandboxes known;
    std::vector<Sandbox> found = {Found("refused", false, 0), Found("ran", false, 1)};
    if (newest_first) std::swap(found[0], found[1]);
    known.Recover(found);
    EXPECT_EQ("ran", known.Current("pod")) << newest_first;
  }
}

TEST(KnownSandboxesTest, StopsWhatMayRunAndSaysWhenItIsDone) {
  KnownSandboxes known;
  EXPECT_EQ(StopStep::kDone, known.NextStop("pod", false, kStart)) << "never heard of";
  known.Want("pod");
  EXPECT_EQ(StopStep::kDone, known.NextStop("pod", false, kStart)) << "nothing was made";
  known.Made("pod", "s", 0);
  EXPECT_EQ(StopStep::kBegin, known.NextStop("pod", true, kStart)) << "after what is under way";
  EXPECT_EQ(StopStep::kWait, known.NextStop("pod", true, kStart));
  known.Stopped("pod");
  EXPECT_EQ(StopStep::kDone, known.NextStop("pod", false, kStart));
  EXPECT_TRUE(known.Ready().empty());
}

TEST(KnownSandboxesTest, StopsAlsoWhereACallWentUnanswered) {
  KnownSandboxes known;
  known.Want("pod");
  known.Doubt("pod");
  EXPECT_EQ(StopStep::kBegin, known.NextStop("pod", false, kStart));
  known.Stopped("pod");
  EXPECT_EQ(StopStep::kDone, known.NextStop("pod", false, kStart));
}

TEST(KnownSandboxesTest, TriesAFailedStopAgainWithGrowingPauses) {
  KnownSandboxes known;
  known.Made("pod", "s", 0);
  os::MonoTime now = kStart;
  os::Millis longest{0};
  int tries = 0;
  for (os::Millis pause{0}; now < kStart + 120 * kSecond; now += os::Millis(100), pause += os::Millis(100)) {
    if (known.NextStop("pod", false, now) != StopStep::kBegin) continue;
    EXPECT_GE(pause, longest) << "try " << tries;
    longest = std::exchange(pause, os::Millis(0));
    ++tries;
    known.NotStopped("pod", now);
  }
  EXPECT_EQ(10 * kSecond, longest);
  EXPECT_LT(tries, 20);
}

TEST(KnownSandboxesTest, ForgetsAllButThoseWanted) {
  KnownSandboxes known;
  for (const char* const uid : {"a", "b", "c"}) known.Want(uid);
  EXPECT_EQ((Ids{"a", "c"}), known.AllBut({"b", "d"}));
  EXPECT_TRUE(known.Forget("a"));
  EXPECT_FALSE(known.Forget("a"));
  EXPECT_FALSE(known.Wanted("a"));
}

TEST(KnownSandboxesTest, TriesAFailedRemovalAgainWithGrowingPauses) {
  KnownSandboxes known;
  EXPECT_TRUE(known.Doom("pod", kStart)) << "told";
  os::MonoTime now = kStart;
  os::Millis longest{0};
  int tries = 0;
  for (os::Millis pause{0}; now < kStart + 600 * kSecond; now += os::Millis(100), pause += os::Millis(100)) {
    if (known.RemovalsDue(now).empty()) continue;
    EXPECT_GE(pause, longest) << "try " << tries;
    longest = std::exchange(pause, os::Millis(0));
    ++tries;
    EXPECT_FALSE(known.Doom("pod", now)) << "once";
  }
  EXPECT_EQ(60 * kSecond, longest);
  EXPECT_LT(tries, 20);
  known.DoubtAll();
  EXPECT_EQ((Ids{"pod"}), known.RemovalsDue(now)) << "a runtime that is back may have been mended";
}

TEST(KnownSandboxesTest, TellsARefusalOnceAndKnowsThatItWasTold) {
  KnownSandboxes known;
  EXPECT_TRUE(known.Doom("pod", kStart)) << "no answer first";
  EXPECT_TRUE(known.Refuse("pod", "default/web", kStart));
  EXPECT_FALSE(known.Refuse("pod", "default/web", kStart));
  EXPECT_FALSE(known.Doom("pod", kStart));
  EXPECT_EQ("default/web", known.Removed("pod"));
  EXPECT_EQ("", known.Removed("pod"));
  EXPECT_TRUE(known.RemovalsDue(kStart + 600 * kSecond).empty());
}

TEST(KnownSandboxesTest, NoticesASandboxThatSomebodyElseEndedOnce) {
  const auto nobody = [](const std::string&) { return false; };
  KnownSandboxes known;
  known.Made("a", "sa", 0);
  known.Made("b", "sb", 0);
  known.SetAddresses("b", "sb", {"10.0.0.1"});
  known.SetAddresses("b", "another", {"10.0.0.2"});
  EXPECT_EQ((std::vector<std::string>{"10.0.0.1"}), known.Addresses("b"));
  const std::vector<Sandbox> found = {{.id = "sa", .uid = "a", .ready = true},
                                      {.id = "sb", .uid = "b", .ready = false}};
  const std::map<std::string, std::string> before = known.Ready();
  EXPECT_TRUE(known.TakeChanged({}, found, nobody).empty()) << "made since";
  EXPECT_TRUE(known.TakeChanged(before, found, [](const std::string& uid) { return uid == "b"; }).empty())
      << "a call may do it";
  EXPECT_EQ((std::map<std::string, std::string>{{"sb", "b"}}), known.TakeChanged(before, found, nobody));
  EXPECT_TRUE(known.TakeChanged(before, found, nobody).empty()) << "told once";
  EXPECT_TRUE(known.Addresses("b").empty());
  EXPECT_EQ(std::nullopt, known.Usable("b"));
  known.DoubtAll();
  EXPECT_EQ((std::map<std::string, std::string>{{"sa", "a"}}), known.TakeChanged(before, {}, nobody))
      << "removed while the runtime did not answer";
}

TEST(KnownSandboxesTest, ASandboxOfAForgottenPodInAnOlderListIsNotTakenForOneThatSomebodyEnded) {
  const auto nobody = [](const std::string&) { return false; };
  KnownSandboxes known;
  known.Made("a", "sa", 0);
  const std::vector<Sandbox> older = {{.id = "sa", .uid = "a", .ready = true}};
  EXPECT_TRUE(known.Forget("a"));
  EXPECT_FALSE(known.IsLate(older.front()));
  EXPECT_TRUE(known.TakeChanged(known.Ready(), {}, nobody).empty());
  EXPECT_EQ((std::vector<std::string>{"a"}), known.AllBut({})) << "it is ended";
  EXPECT_EQ(StopStep::kBegin, known.NextStop("a", false, kStart));
}

}  // namespace
}  // namespace berth::cri
