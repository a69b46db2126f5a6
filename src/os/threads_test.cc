#include "os/threads.h"

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
  EXPECT_LE(threads.threads(), 2U);
}

TEST(ThreadsTest, ThoseThatStayDoNotGo) {
  Threads threads({.most = 4, .stay = 1, .linger = Millis(1)});
  std::promise<void> go;
  const std::shared_future<void> gate = go.get_future().share();
  std::atomic<int> here = 0;
  for (int i = 0; i < 4; ++i)
    threads.Do([&] {
      ++here;
      gate.wait();
    });
  while (here < 4) std::this_thread::yield();
  EXPECT_EQ(4U, threads.threads());
  go.set_value();
  while (threads.threads() > 1) std::this_thread::yield();
  SleepFor(Millis(20));
  EXPECT_EQ(1U, threads.threads());
}

}  // namespace
}  // namespace berth::os
