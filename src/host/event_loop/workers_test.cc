#include "host/event_loop/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <random>

#include "host/event_loop/loop.h"

namespace berth::event_loop {
namespace {

using std::chrono::milliseconds;

struct WorkersTest : ::testing::Test {
  static std::unique_ptr<Loop> MakeLoop() {
    auto made = Loop::Open(os::SystemClock());
    BERTH_CHECK(made.has_value());
    return *std::move(made);
  }
  std::unique_ptr<Workers> Start(const WorkersOptions& options) {
    auto started = Workers::Start(*loop, options);
    BERTH_CHECK(started.has_value());
    return *std::move(started);
  }
  const std::unique_ptr<Loop> loop = MakeLoop();
};

TEST_F(WorkersTest, RunsJobsOfOneQueueInTheirOrderAndTheirEndsOnTheLoop) {
  constexpr int kJobs = 2'000;
  const auto home = std::this_thread::get_id();
  std::mt19937_64 random(20'260'102);
  std::map<std::string, std::vector<int>> want;
  std::map<std::string, std::vector<int>> done;  // of each queue only one job runs: no lock
  std::map<std::string, std::vector<int>> ends;
  for (const char* const name : {"pod/a", "pod/b", "ledger", "history", "e"}) done[name];
  int left = kJobs;
  const auto workers = Start({.most_threads = 3});
  for (int i = 0; i < kJobs; ++i) {
    const std::string name = std::next(done.begin(), static_cast<std::ptrdiff_t>(random() % done.size()))->first;
    want[name].push_back(i);
    workers->Run(
        name,
        [&, i, list = &done[name]] {
          EXPECT_NE(home, std::this_thread::get_id());
          list->push_back(i);
        },
        [&, i, name] {
          EXPECT_EQ(home, std::this_thread::get_id());
          ends[name].push_back(i);
          if (--left == 0) loop->Stop();
        });
  }
  ASSERT_TRUE(loop->Run());
  EXPECT_EQ(want, done);
  EXPECT_EQ(want, ends);
  EXPECT_LE(workers->threads(), 3U);
}

TEST_F(WorkersTest, RunsQueuesBesideEachOtherUpToItsLimit) {
  std::promise<void> both;
  std::promise<void> go;
  const std::shared_future<void> gate = go.get_future().share();
  std::atomic<int> here = 0;
  std::atomic<bool> third = false;
  const auto workers = Start({.most_threads = 2});
  for (const char* const name : {"a", "b"})
    workers->Run(
        name,
        [&] {
          if (++here == 2) both.set_value();
          gate.wait();
        },
        [] {});
  both.get_future().wait();  // each waits for the other: they run at once
  workers->Run("c", [&] { third = true; }, [&] { loop->Stop(); });
  EXPECT_EQ(3U, workers->jobs());
  EXPECT_EQ(2U, workers->threads());
  EXPECT_FALSE(third);  // nobody is free
  go.set_value();
  ASSERT_TRUE(loop->Run());
  EXPECT_TRUE(third);
}

TEST_F(WorkersTest, ThreadsGoWhenThereIsNothingToDoAndComeBack) {
  const auto workers = Start({.most_threads = 4, .linger = milliseconds(1)});
  for (int round = 0; round < 3; ++round) {
    std::promise<void> all;
    std::atomic<int> here = 0;
    int left = 4;
    const std::shared_future<void> together = all.get_future().share();
    for (int i = 0; i < 4; ++i)
      workers->Run(
          std::to_string(i),
          [&] {
            if (++here == 4) all.set_value();
            together.wait();
          },
          [&] {
            if (--left == 0) loop->Stop();
          });
    while (left > 0) ASSERT_TRUE(loop->Turn(true));
    // The end is posted before its job counts as done: the thread that stays may still be at that.
    while (workers->jobs() > 0 || workers->threads() > 1) std::this_thread::yield();
  }
}

TEST_F(WorkersTest, StopLetsWhatWasGivenEnd) {
  const auto workers = Start({.most_threads = 2});
  std::atomic<int> done = 0;
  int ends = 0;
  for (int i = 0; i < 50; ++i) workers->Run(std::to_string(i % 7), [&] { ++done; }, [&] { ++ends; });
  EXPECT_TRUE(workers->Stop(milliseconds(60'000)));
  EXPECT_EQ(50, done);
  workers->Run("late", [&] { ++done; }, [&] { ++ends; });
  EXPECT_EQ(0U, workers->jobs());
  while (ends < 50) ASSERT_TRUE(loop->Turn(true));
  EXPECT_EQ(50, done);
}

TEST_F(WorkersTest, StopDropsAtItsDeadlineWhatHasNotBegun) {
  std::promise<void> begun;
  std::promise<void> go;
  const std::shared_future<void> gate = go.get_future().share();
  std::atomic<int> done = 0;
  const auto workers = Start({.most_threads = 1});
  const auto kept = std::make_shared<int>(0);
  workers->Run(
      "a",
      [&] {
        begun.set_value();
        gate.wait();
        ++done;
      },
      [] {});
  begun.get_future().wait();
  workers->Run("a", [&, kept] { ++done; }, [kept] {});
  workers->Run("b", [&, kept] { ++done; }, [kept] {});
  EXPECT_FALSE(workers->Stop(milliseconds(1)));
  EXPECT_EQ(0, done);
  EXPECT_EQ(1U, workers->jobs());
  EXPECT_EQ(1, kept.use_count());  // nothing dropped is kept
  go.set_value();
  EXPECT_TRUE(workers->Stop(milliseconds(60'000)));
  EXPECT_EQ(1, done);
}

TEST_F(WorkersTest, WaitsAtItsEndForWhatHasBegun) {
  std::atomic<int> begun = 0;
  std::atomic<int> ended = 0;
  {
    const auto workers = Start({.most_threads = 2});
    for (int i = 0; i < 500; ++i)
      workers->Run(
          std::to_string(i % 7),
          [&] {
            ++begun;
            std::this_thread::yield();
            ++ended;
          },
          [] {});
  }
  EXPECT_EQ(begun, ended);
}

TEST_F(WorkersTest, SubmitGivesTheAnswerToItsEnd) {
  const auto workers = Start({});
  std::string got;
  Submit<std::string>(
      *workers, "a", []() -> Result<std::string> { return "answer"; },
      [&](Result<std::string> answer) {
        got = answer.value_or("error");
        loop->Stop();
      });
  ASSERT_TRUE(loop->Run());
  EXPECT_EQ("answer", got);
}

}  // namespace
}  // namespace berth::event_loop
