#include "host/event_loop/worker_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "base/loop_thread.h"
#include "host/event_loop/loop.h"

namespace berth::event_loop {
namespace {

using std::chrono::milliseconds;

struct WorkerPoolTest : ::testing::Test {
  static std::unique_ptr<Loop> MakeLoop() {
    auto made = Loop::Open(os::SystemClock());
    BERTH_CHECK(made.has_value());
    return *std::move(made);
  }
  std::unique_ptr<WorkerPool> Start(const std::vector<LaneOptions>& lanes, milliseconds linger = os::Threads::kLinger)
      BERTH_ASSERTS(loop_thread) {
    auto started = WorkerPool::Start(*loop, lanes, linger);
    BERTH_CHECK(started.has_value());
    return *std::move(started);
  }
  const std::unique_ptr<Loop> loop = MakeLoop();
};

TEST_F(WorkerPoolTest, RunsJobsOfOneQueueInTheirOrderAndTheirEndsOnTheLoop) {
  constexpr int kJobs = 2'000;
  const auto home = std::this_thread::get_id();
  std::mt19937_64 random(20'260'102);
  std::map<std::string, std::vector<int>> want;
  std::map<std::string, std::vector<int>> done;  // of each queue only one job runs: no lock
  std::map<std::string, std::vector<int>> ends;
  for (const char* const name : {"pod/a", "pod/b", "ledger", "history", "e"}) done[name];
  int left = kJobs;
  const auto pool = Start({{.name = "only", .most = 3}});
  WorkerLane& workers = pool->lane("only");
  for (int i = 0; i < kJobs; ++i) {
    const std::string name = std::next(done.begin(), static_cast<std::ptrdiff_t>(random() % done.size()))->first;
    want[name].push_back(i);
    workers.Run(
        name,
        [&, i, list = &done[name]] {
          EXPECT_NE(home, std::this_thread::get_id());
          list->push_back(i);
        },
        [&, i, name]() BERTH_REQUIRES(loop_thread) {
          EXPECT_EQ(home, std::this_thread::get_id());
          ends[name].push_back(i);
          if (--left == 0) loop->Stop();
        });
  }
  ASSERT_TRUE(loop->Run());
  EXPECT_EQ(want, done);
  EXPECT_EQ(want, ends);
  EXPECT_LE(pool->threads(), 3U);
}

TEST_F(WorkerPoolTest, RunsQueuesBesideEachOtherUpToItsLimit) {
  std::promise<void> both;
  std::promise<void> go;
  const std::shared_future<void> gate = go.get_future().share();
  std::atomic<int> here = 0;
  std::atomic<bool> third = false;
  const auto pool = Start({{.name = "only", .most = 2}});
  WorkerLane& workers = pool->lane("only");
  for (const char* const name : {"a", "b"})
    workers.Run(
        name,
        [&] {
          if (++here == 2) both.set_value();
          gate.wait();
        },
        [] {});
  both.get_future().wait();  // each waits for the other: they run at once
  workers.Run("c", [&] { third = true; }, [&]() BERTH_REQUIRES(loop_thread) { loop->Stop(); });
  EXPECT_EQ(3U, workers.jobs());
  EXPECT_EQ(2U, pool->threads());
  EXPECT_FALSE(third);  // nobody is free
  go.set_value();
  ASSERT_TRUE(loop->Run());
  EXPECT_TRUE(third);
}

TEST_F(WorkerPoolTest, ThreadsGoWhenThereIsNothingToDoAndComeBack) {
  const auto pool = Start({{.name = "only", .most = 4}}, milliseconds(1));
  WorkerLane& workers = pool->lane("only");
  for (int round = 0; round < 3; ++round) {
    std::promise<void> all;
    std::atomic<int> here = 0;
    int left = 4;
    const std::shared_future<void> together = all.get_future().share();
    for (int i = 0; i < 4; ++i)
      workers.Run(
          std::to_string(i),
          [&] {
            if (++here == 4) all.set_value();
            together.wait();
          },
          [&]() BERTH_REQUIRES(loop_thread) {
            if (--left == 0) loop->Stop();
          });
    while (left > 0) ASSERT_TRUE(loop->Turn(true));
    // The end is posted before its job counts as done: the thread that stays may still be at that.
    while (workers.jobs() > 0 || pool->threads() > 1) std::this_thread::yield();
  }
}

TEST_F(WorkerPoolTest, StopLetsWhatWasGivenEnd) {
  const auto pool = Start({{.name = "only", .most = 2}});
  WorkerLane& workers = pool->lane("only");
  std::atomic<int> done = 0;
  int ends = 0;
  for (int i = 0; i < 50; ++i) workers.Run(std::to_string(i % 7), [&] { ++done; }, [&] { ++ends; });
  EXPECT_TRUE(workers.Stop(milliseconds(60'000)));
  EXPECT_EQ(50, done);
  workers.Run("late", [&] { ++done; }, [&] { ++ends; });
  EXPECT_EQ(0U, workers.jobs());
  while (ends < 50) ASSERT_TRUE(loop->Turn(true));
  EXPECT_EQ(50, done);
}

TEST_F(WorkerPoolTest, StopDropsAtItsDeadlineWhatHasNotBegun) {
  std::promise<void> begun;
  std::promise<void> go;
  const std::shared_future<void> gate = go.get_future().share();
  std::atomic<int> done = 0;
  const auto pool = Start({{.name = "only", .most = 1}});
  WorkerLane& workers = pool->lane("only");
  const auto kept = std::make_shared<int>(0);
  workers.Run(
      "a",
      [&] {
        begun.set_value();
        gate.wait();
        ++done;
      },
      [] {});
  begun.get_future().wait();
  workers.Run("a", [&, kept] { ++done; }, [kept] {});
  workers.Run("b", [&, kept] { ++done; }, [kept] {});
  EXPECT_FALSE(workers.Stop(milliseconds(1)));
  EXPECT_EQ(0, done);
  EXPECT_EQ(1U, workers.jobs());
  EXPECT_EQ(1, kept.use_count());  // nothing dropped is kept
  go.set_value();
  EXPECT_TRUE(workers.Stop(milliseconds(60'000)));
  EXPECT_EQ(1, done);
}

TEST_F(WorkerPoolTest, WaitsAtItsEndForWhatHasBegun) {
  std::atomic<int> begun = 0;
  std::atomic<int> ended = 0;
  auto pool = Start({{.name = "only", .most = 2}});
  WorkerLane& workers = pool->lane("only");
  for (int i = 0; i < 500; ++i)
    workers.Run(
        std::to_string(i % 7),
        [&] {
          ++begun;
          std::this_thread::yield();
          ++ended;
        },
        [] {});
  pool.reset();
  EXPECT_EQ(begun, ended);
}

// A hung hook must not hold the save of the ledger, however many hooks hang and wait.
TEST_F(WorkerPoolTest, ALaneWhoseJobsHangHoldsUpNoOther) {
  const auto pool = Start({{.name = "disk", .most = 1}, {.name = "hooks", .most = 3}});
  std::promise<void> go;
  const std::shared_future<void> gate = go.get_future().share();
  std::atomic<int> begun = 0;
  for (int i = 0; i < 6; ++i)
    pool->lane("hooks").Run(
        "hook/" + std::to_string(i),
        [&, gate] {
          ++begun;
          gate.wait();
        },
        [] {});
  bool saved = false;
  for (int i = 0; i < 2; ++i) {
    saved = false;
    pool->lane("disk").Run("ledger", [] {}, [&] { saved = true; });
    while (!saved) ASSERT_TRUE(loop->Turn(true));
  }
  while (begun < 3) std::this_thread::yield();
  EXPECT_EQ(6U, pool->lane("hooks").jobs());
  EXPECT_FALSE(pool->lane("hooks").Stop(milliseconds(1)));
  EXPECT_EQ(3U, pool->lane("hooks").jobs()) << "what had not begun was dropped";
  EXPECT_TRUE(pool->lane("disk").Stop(milliseconds(60'000)));
  EXPECT_LE(pool->threads(), 4U);
  go.set_value();
  EXPECT_TRUE(pool->lane("hooks").Stop(milliseconds(60'000)));
  EXPECT_EQ(3, begun);
}

TEST_F(WorkerPoolTest, SubmitGivesTheAnswerToItsEnd) {
  const auto pool = Start({{.name = "only", .most = 8}});
  WorkerLane& workers = pool->lane("only");
  std::string got;
  Submit<std::string>(
      workers, "a", []() -> Result<std::string> { return "answer"; },
      [&](Result<std::string> answer) BERTH_REQUIRES(loop_thread) {
        got = answer.value_or("error");
        loop->Stop();
      });
  ASSERT_TRUE(loop->Run());
  EXPECT_EQ("answer", got);
}

}  // namespace
}  // namespace berth::event_loop
