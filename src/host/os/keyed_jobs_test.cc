#include "host/os/keyed_jobs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace berth::os {
namespace {

TEST(KeyedJobsTest, RunsJobsOfOneKeyInTheirOrderAndOneAtATime) {
  constexpr int kJobs = 2'000;
  std::mt19937_64 random(20'260'102);
  std::map<std::string, std::vector<int>> done;  // of each key only one job runs: no lock
  for (const char* const key : {"a", "b", "c", "d", "e"}) done[key];
  std::map<std::string, std::vector<int>> want = done;
  std::promise<void> last;
  std::atomic<int> left = kJobs;
  Threads threads({.most = 3});
  KeyedJobs workers(threads);
  for (int i = 0; i < kJobs; ++i) {
    const std::string key(1, static_cast<char>('a' + random() % 5));
    want[key].push_back(i);
    workers.Post(key, [&, i, list = &done[key]] {
      list->push_back(i);
      if (--left == 0) last.set_value();
    });
  }
  last.get_future().wait();
  EXPECT_EQ(want, done);
}

TEST(KeyedJobsTest, RunsKeysBesideEachOtherUpToItsLimit) {
  std::promise<void> both;
  std::promise<void> go;
  const std::shared_future<void> gate = go.get_future().share();
  std::atomic<int> here = 0;
  std::atomic<bool> third = false;
  Threads threads({.most = 2});
  KeyedJobs workers(threads);
  for (const char* const key : {"a", "b"})
    workers.Post(key, [&] {
      if (++here == 2) both.set_value();
      gate.wait();
    });
  both.get_future().wait();  // each waits for the other: they run at once
  std::promise<void> ran;
  workers.Post("c", [&] {
    third = true;
    ran.set_value();
  });
  EXPECT_TRUE(workers.Busy("a"));
  EXPECT_TRUE(workers.Busy("c"));
  EXPECT_FALSE(workers.Busy("d"));
  EXPECT_FALSE(third);  // nobody is free
  go.set_value();
  ran.get_future().wait();
}

TEST(KeyedJobsTest, WaitsAtItsEndForWhatHasBegun) {
  std::atomic<int> begun = 0;
  std::atomic<int> ended = 0;
  {
    Threads threads({.most = 2});
    KeyedJobs workers(threads);
    for (int i = 0; i < 500; ++i)
      workers.Post(std::to_string(i % 7), [&] {
        ++begun;
        std::this_thread::yield();
        ++ended;
      });
  }
  EXPECT_EQ(begun, ended);
}

TEST(KeyedJobsTest, ThreadsGoWhenNothingIsLeftToDo) {
  constexpr std::size_t kMany = 64;
  Threads threads({.most = kMany}, Millis(1));
  KeyedJobs jobs(threads);
  for (int round = 0; round < 2; ++round) {
    std::promise<void> go;
    const std::shared_future<void> gate = go.get_future().share();
    std::atomic<std::size_t> here = 0;
    for (std::size_t i = 0; i < kMany; ++i)
      jobs.Post(std::to_string(i), [&] {
        ++here;
        gate.wait();
      });
    while (here < kMany) std::this_thread::yield();
    EXPECT_EQ(kMany, threads.threads());
    go.set_value();
    while (threads.threads() > 0) std::this_thread::yield();
  }
  EXPECT_EQ(0U, jobs.jobs());
}

}  // namespace
}  // namespace berth::os
