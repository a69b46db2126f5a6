#include "host/os/threads.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <future>
#include <thread>

namespace berth::os {
namespace {

TEST(ThreadsTest, DoNowRefusesWhatWouldHaveToWait) {
  std::promise<void> go;
  const std::shared_future<void> gate = go.get_future().share();
  std::atomic<int> done = 0;
  {
    Threads threads({.most = 2});
    const auto job = [&] {
      gate.wait();
      ++done;
    };
    EXPECT_TRUE(threads.DoNow(job));
    EXPECT_TRUE(threads.DoNow(job));
    EXPECT_FALSE(threads.DoNow(job));
    EXPECT_EQ(2U, threads.jobs());
    threads.Do(job);  // this one waits
    EXPECT_EQ(3U, threads.jobs());
    go.set_value();
  }
  EXPECT_EQ(3, done) << "what was given is done first";
}

TEST(ThreadsTest, OneThreadIsEnoughForJobsThatDoNotLast) {
  Threads threads({.most = 8});
  for (int i = 0; i < 100; ++i) {
    std::promise<void> done;
    threads.Do([&] { done.set_value(); });
    done.get_future().wait();
    while (threads.jobs() > 0) std::this_thread::yield();
  }
  EXPECT_LE(threads.threads(), 1U);
}

// Those that go decide it one after the other: many rounds, since one alone seldom has two decide at once.
TEST(ThreadsTest, ThoseThatStayDoNotGo) {
  Threads threads({.most = 4, .stay = 1}, Millis(0));
  for (int round = 0; round < 200; ++round) {
    std::promise<void> go;
    const std::shared_future<void> gate = go.get_future().share();
    std::atomic<int> here = 0;
    for (int i = 0; i < 4; ++i)
      threads.Do([&, gate] {
        ++here;
        gate.wait();
      });
    while (here < 4) std::this_thread::yield();
    EXPECT_EQ(4U, threads.threads());
    go.set_value();
    while (threads.threads() > 1) std::this_thread::yield();
    ASSERT_EQ(1U, threads.threads()) << "round " << round;
  }
}

// A job given while the only thread allowed is about to go is run all the same, by it or by the next one.
TEST(ThreadsTest, AJobGivenWhileTheLastThreadGoesIsRun) {
  Threads threads({.most = 1}, Millis(0));
  std::atomic<int> done = 0;
  for (int i = 0; i < 2'000; ++i) {
    threads.Do([&] { ++done; });
    while (threads.jobs() > 0) std::this_thread::yield();
  }
  EXPECT_EQ(2'000, done);
}

// More of one lane than it may run wait, and hold up neither what comes later in another nor what runs.
TEST(ThreadsTest, ALaneThatIsFullHoldsUpNoOther) {
  Threads threads(std::array<LaneLimits, 2>{{{.most = 2}, {.most = 1}}});
  std::promise<void> go;
  const std::shared_future<void> gate = go.get_future().share();
  std::atomic<int> begun = 0;
  std::promise<void> both;
  for (int i = 0; i < 4; ++i)
    threads.Do([&, gate] {
      if (++begun == 2) both.set_value();
      gate.wait();
    });
  both.get_future().wait();
  std::promise<void> other;
  threads.Do([&] { other.set_value(); }, 1);
  other.get_future().wait();
  EXPECT_EQ(2, begun);
  EXPECT_LE(threads.threads(), 3U);
  go.set_value();
  while (threads.jobs() > 0) std::this_thread::yield();
  EXPECT_EQ(4, begun);
}

TEST(ThreadsTest, ThreadsThatStayAreThereForEachLaneAlsoWhileOthersHaveMore) {
  const LaneLimits limits{.most = 3, .stay = 1};
  Threads threads(std::array{limits, limits}, Millis(0));
  ASSERT_TRUE(threads.StartThoseThatStay());
  EXPECT_EQ(2U, threads.threads());
  std::promise<void> go;
  const std::shared_future<void> gate = go.get_future().share();
  std::atomic<int> begun = 0;
  for (int i = 0; i < 3; ++i)
    threads.Do([&, gate] {
      ++begun;
      gate.wait();
    });
  while (begun < 3) std::this_thread::yield();
  EXPECT_EQ(4U, threads.threads()) << "three at work, and one for the other lane";
  go.set_value();
  while (threads.threads() > 2) std::this_thread::yield();
  EXPECT_EQ(2U, threads.threads());
}

}  // namespace
}  // namespace berth::os
