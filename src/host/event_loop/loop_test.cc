#include "host/event_loop/loop.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <future>

#include "base/loop_thread.h"
#include "testing/fixtures.h"

namespace berth::event_loop {
namespace {

using std::chrono::milliseconds;
using testkit::ManualClock;

std::unique_ptr<Loop> MakeLoop(const os::Clock& clock = os::SystemClock()) BERTH_ASSERTS(loop_thread) {
  auto loop = Loop::Open(clock);
  BERTH_CHECK(loop.has_value());
  return *std::move(loop);
}

/// Two ends of a line.
std::array<os::UniqueFd, 2> Line() {
  std::array<int, 2> fds{};
  BERTH_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds.data()) == 0);
  return {os::UniqueFd(fds[0]), os::UniqueFd(fds[1])};
}
void Say(const os::UniqueFd& end) { BERTH_CHECK(::write(end.get(), "x", 1) == 1); }
void Hear(const os::UniqueFd& end) {
  char byte = 0;
  BERTH_CHECK(::read(end.get(), &byte, 1) == 1);
}

TEST(LoopTest, CallsWhenADescriptorIsReadyAndNotAfterForget) {
  const auto loop = MakeLoop();
  const auto line = Line();
  int calls = 0;
  ASSERT_TRUE(loop->Watch(line[0].get(), "line", [&](os::MonoTime) {
    ++calls;
    Hear(line[0]);
  }));
  EXPECT_EQ(Code::kInvalid, loop->Watch(line[0].get(), "again", {}).error().code);
  ASSERT_TRUE(loop->Turn(false));
  EXPECT_EQ(0, calls);
  Say(line[1]);
  ASSERT_TRUE(loop->Turn(true));
  ASSERT_TRUE(loop->Turn(false));
  EXPECT_EQ(1, calls);
  Say(line[1]);
  loop->Forget(line[0].get());
  ASSERT_TRUE(loop->Turn(false));
  EXPECT_EQ(1, calls);
}

TEST(LoopTest, NeverCallsForADescriptorThatAnotherCallForgotInTheSameTurn) {
  const auto loop = MakeLoop();
  const auto a = Line();
  auto b = Line();
  int calls = 0;
  const auto forget_other = [&](const os::UniqueFd& other) {
    return [&](os::MonoTime) BERTH_REQUIRES(loop_thread) {
      ++calls;
      loop->Forget(other.get());
    };
  };
  ASSERT_TRUE(loop->Watch(a[0].get(), "a", forget_other(b[0])));
  ASSERT_TRUE(loop->Watch(b[0].get(), "b", forget_other(a[0])));
  Say(a[1]);
  Say(b[1]);
  ASSERT_TRUE(loop->Turn(true));
  EXPECT_EQ(1, calls);
}

TEST(LoopTest, LetsACallbackForgetItself) {
  const auto loop = MakeLoop();
  const auto line = Line();
  std::string said = "not called";
  ASSERT_TRUE(loop->Watch(line[0].get(), "line",
                          [&, words = std::string("still there after Forget")](os::MonoTime)
                              BERTH_REQUIRES(loop_thread) {
                                loop->Forget(line[0].get());
                                said = words;
                              }));
  Say(line[1]);
  ASSERT_TRUE(loop->Turn(true));
  EXPECT_EQ("still there after Forget", said);
}

TEST(LoopTest, AsksWhatKeepsItsOwnTimeBeforeEachWait) {
  ManualClock clock;
  const auto loop = MakeLoop(clock);
  os::MonoTime due = clock.Now() + milliseconds(500);
  int calls = 0;
  loop->Keep(
      "part", [&] { return due; },
      [&](os::MonoTime now) {
        ++calls;
        due = now + milliseconds(500);
      });
  ASSERT_TRUE(loop->Turn(false));
  EXPECT_EQ(0, calls);
  due = clock.Now();  // it was brought forward meanwhile
  ASSERT_TRUE(loop->Turn(true));
  EXPECT_EQ(1, calls);
  clock.Advance(milliseconds(499));
  ASSERT_TRUE(loop->Turn(false));
  EXPECT_EQ(1, calls);
}

TEST(LoopTest, EndsEachTurnWithWhatRestsOnAllOfIt) {
  ManualClock clock;
  const auto loop = MakeLoop(clock);
  std::string calls;
  loop->EachTurn("status", [&](os::MonoTime) { calls += '.'; });
  loop->Keep(
      "kept", [&] { return calls.empty() || calls == "p" ? clock.Now() : os::MonoTime::max(); },
      [&](os::MonoTime) { calls += 'k'; });
  loop->Post("posted", [&] { calls += 'p'; });
  ASSERT_TRUE(loop->Turn(true));
  ASSERT_TRUE(loop->Turn(false));
  EXPECT_EQ("pk..", calls);
}

TEST(LoopTest, WaitsForTheFirstThatIsDue) {
  const auto loop = MakeLoop();
  const os::MonoTime when = os::SystemClock().Now() + milliseconds(30);
  bool called = false;
  loop->Keep("late", [&] { return when + std::chrono::hours(1); }, [](os::MonoTime) {});
  loop->Keep(
      "kept", [&] { return called ? os::MonoTime::max() : when; },
      [&](os::MonoTime now) BERTH_REQUIRES(loop_thread) {
        called = true;
        EXPECT_GE(now, when);
        loop->Stop();
      });
  ASSERT_TRUE(loop->Run());
  EXPECT_TRUE(called);
  EXPECT_LE(loop->figures().turns, 3U);
}

TEST(LoopTest, GivesTheNumbersOfSignals) {
  BlockSignals({SIGUSR1, SIGUSR2});
  const auto loop = MakeLoop();
  std::vector<int> seen;
  ASSERT_TRUE(loop->TakeSignals({SIGUSR1, SIGUSR2}, [&](int signal) { seen.push_back(signal); }));
  ::raise(SIGUSR2);
  ::raise(SIGUSR1);
  ASSERT_TRUE(loop->Turn(true));
  std::ranges::sort(seen);
  EXPECT_EQ((std::vector{SIGUSR1, SIGUSR2}), seen);
}

TEST(LoopTest, AnswersOtherThreadsOnItsOwn) {
  const auto loop = MakeLoop();
  const auto home = std::this_thread::get_id();
  std::thread asker([&] {
    const auto answer = loop->Ask<int>("ask", milliseconds(60'000), [&]() -> Result<int> {
      EXPECT_EQ(home, std::this_thread::get_id());
      return 42;
    });
    EXPECT_EQ(42, answer.value_or(0));
    const auto failed =
        loop->Ask<int>("ask", milliseconds(60'000), []() -> Result<int> { return Fail(Code::kNotFound, "no pod"); });
    EXPECT_EQ("no pod", failed.error().message);
    EXPECT_TRUE(loop->Post("stop", [&]() BERTH_REQUIRES(loop_thread) { loop->Stop(); }));
  });
  EXPECT_TRUE(loop->Run());
  asker.join();
}

TEST(LoopTest, NeverRunsWhatItsAskerGaveUp) {
  const auto loop = MakeLoop();
  std::atomic<bool> ran = false;
  std::thread([&] {
    const auto answer = loop->Ask<int>("pods", milliseconds(1), [&]() -> Result<int> {
      ran = true;
      return 0;
    });
    EXPECT_EQ(Code::kTimeout, answer.error().code);
    EXPECT_EQ("pods: berthd did not come to it within 1 ms; try again", answer.error().message);
  }).join();
  ASSERT_TRUE(loop->Turn(true));
  EXPECT_FALSE(ran);
}

TEST(LoopTest, TellsAnAskerWhatHoldsItUp) {
  const auto loop = MakeLoop();
  std::promise<void> begun;
  std::promise<void> given_up;
  std::thread asker([&] {
    begun.get_future().wait();
    const auto late = loop->Ask<int>("pods", milliseconds(1), []() -> Result<int> { return 0; });
    EXPECT_EQ("pods: berthd did not come to it within 1 ms; it is held up by 'slow'; try again", late.error().message);
    given_up.set_value();
  });
  loop->Post("slow", [&] {
    begun.set_value();
    given_up.get_future().wait();
  });
  EXPECT_TRUE(loop->Turn(true));
  asker.join();
}

TEST(LoopTest, WaitsForWhatHasBegunAlsoWhenItsTimeIsOver) {
  constexpr milliseconds kWithin(20);
  const auto loop = MakeLoop();
  std::thread asker([&] {
    bool begun = false;
    while (!begun) {  // on a busy host the loop may not come to it
      const os::MonoTime deadline = os::SystemClock().Now() + kWithin;
      std::string mine = "the asker's";  // what the work refers to has to stay
      const auto answer = loop->Ask<std::string>("slow", kWithin, [&]() -> Result<std::string> {
        begun = true;
        while (os::SystemClock().Now() <= deadline + kWithin) std::this_thread::yield();
        return mine;
      });
      EXPECT_EQ(begun, answer.has_value());
      EXPECT_TRUE(!answer || *answer == mine);
    }
    loop->Post("stop", [&]() BERTH_REQUIRES(loop_thread) { loop->Stop(); });
  });
  EXPECT_TRUE(loop->Run());
  asker.join();
}

TEST(LoopTest, ClosedAnswersEverybodyAtOnce) {
  const auto loop = MakeLoop();
  std::promise<void> asking;
  std::thread asker([&] {
    asking.set_value();
    for (int i = 0; i < 2; ++i) {
      const auto answer = loop->Ask<int>("pods", milliseconds(600'000), []() -> Result<int> { return 0; });
      EXPECT_EQ(Code::kCancelled, answer.error().code);
    }
    EXPECT_FALSE(loop->Post("late", [] {}));
  });
  asking.get_future().wait();
  loop->Close();
  asker.join();
}

TEST(LoopTest, DoesASliceOfWhatIsPostedAndThenLooksAtTheOthers) {
  ManualClock clock;
  const auto loop = MakeLoop(clock);
  const auto line = Line();
  std::string calls;
  ASSERT_TRUE(loop->Watch(line[0].get(), "line", [&](os::MonoTime) {
    calls += '!';
    Hear(line[0]);
  }));
  for (const char c : std::string("abcdef"))
    loop->Post("posted", [&, c] {
      calls += c;
      clock.Advance(milliseconds(3));
      if (c == 'a') Say(line[1]);
    });
  std::string turns;
  while (calls.size() < 7) {
    ASSERT_TRUE(loop->Turn(true));
    turns += calls.substr(turns.size() - static_cast<std::size_t>(std::ranges::count(turns, ' '))) + " ";
  }
  EXPECT_TRUE(turns == "ab cd! ef " || turns == "ab !cd ef ") << turns;
  EXPECT_EQ(milliseconds(6), loop->figures().longest.time);
  EXPECT_EQ("posted", loop->figures().longest.what);
}

}  // namespace
}  // namespace berth::event_loop
