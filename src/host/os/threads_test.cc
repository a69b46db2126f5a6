#include "host/os/threads.h"

#include <gtest/gtest.h>

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
  Threads threads({.most = 4, .stay = 1, .linger = Millis(0)});
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
  Threads threads({.most = 1, .linger = Millis(0)});
  std::atomic<int> done = 0;
  for (int i = 0; i < 2'000; ++i) {
    threads.Do([&] { ++done; });
    while (threads.jobs() > 0) std::this_thread::yield();
  }
  EXPECT_EQ(2'000, done);
}

}  // namespace
}  // namespace berth::os
