// 500 pods at once on a node whose disk takes 200 ms for whatever has to be durable, and whose sources are read slowly:
// nothing of that happens on the loop's thread, and the loop turns all the while.
//
// The loop's clock is not asserted: whoever is asked looks on whose thread he is, and pods are counted between two
// turns. The slices of the manager are cut by a clock that goes on by a millisecond with each look at it.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <thread>

#include "base/loop_thread.h"
#include "daemon/dry_run.h"
#include "daemon/fake_node_test.h"
#include "daemon/source_feed.h"
#include "host/event_loop/loop.h"
#include "host/event_loop/worker_pool.h"
#include "host/os/event_fd.h"

namespace berth::daemon {
namespace {

constexpr os::Millis kSlow{200};
constexpr int kPods = 500;

struct Slow {
  const std::thread::id loop = std::this_thread::get_id();
  std::atomic<int> calls = 0;
  std::atomic<int> on_loop = 0;
  void Take() {
    ++calls;
    if (std::this_thread::get_id() == loop) ++on_loop;
    os::SleepFor(kSlow);
  }
};

class SlowStore final : public checkpoint::Store {
 public:
  explicit SlowStore(Slow& slow) : slow_(slow) {}
  Result<std::optional<checkpoint::Saved>> Load(std::vector<std::string>*) override { return std::nullopt; }
  Result<void> Save(const checkpoint::Saved&) override {
    slow_.Take();
    return {};
  }

 private:
  Slow& slow_;
};

class SlowSource final : public pod_sources::Source {
 public:
  SlowSource(Slow& slow, os::EventFd fd) : slow_(slow), fd_(std::move(fd)) {}
  std::string name() const override { return "slow"; }
  int event_fd() const override { return fd_.get(); }
  os::MonoTime next_due() const override { return looked_ ? os::MonoTime::max() : os::MonoTime(); }
  std::optional<pod_sources::Snapshot> Poll(os::MonoTime) override {
    slow_.Take();
    looked_ = true;
    std::vector<Pod> pods;
    for (int i = 0; i < kPods; ++i) pods.push_back(MakePod("p" + std::to_string(i), "1m", QosClass::kBurstable));
    return Wanting(pods);
  }

 private:
  Slow& slow_;
  os::EventFd fd_;
  bool looked_ = false;
};

/// Never stands still: what looks at it after each step has taken as many milliseconds as it took steps.
class SteppingClock final : public os::Clock {
 public:
  os::MonoTime Now() const override { return begin_ + os::Millis(++looks_); }
  os::WallTime Wall() const override { return os::SystemClock().Wall(); }

 private:
  const os::MonoTime begin_ = os::SystemClock().Now();
  mutable int looks_ = 0;  // the loop's thread only
};

allocator::Node NodeWithRoom() {
  KubeletConfiguration config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0";
  config.max_pods = 2 * kPods;
  auto machine = machine::ParseSynthetic("numa:1 core:4 pu:1");
  BERTH_CHECK(machine.has_value());
  auto node = allocator::Node::Make(*machine, config);
  BERTH_CHECK(node.has_value());
  return *std::move(node);
}

struct NeverWaitsTest : testing::Test {
  template <class T>
  static T Made(Result<T> result) {
    BERTH_CHECK(result.has_value());
    return *std::move(result);
  }
  std::size_t Running() const {
    return static_cast<std::size_t>(std::ranges::count_if(core.pods(), [](const auto& pod) {
      return pod.second.lifecycle && pod.second.lifecycle->phase() == PodPhase::kRunning;
    }));
  }

  Slow slow;
  const SteppingClock steps;
  const allocator::Node node = NodeWithRoom();
  testkit::TempDir logs;
  SlowStore store{slow};
  DryRunTree tree{node.machine()};
  const std::unique_ptr<DryRunRuntime> runtime = Made(DryRunRuntime::Open(os::SystemClock()));
  events::EventLog events{os::SystemClock(), nullptr, 10'000};
  const std::unique_ptr<event_loop::Loop> loop = Made(event_loop::Loop::Open(os::SystemClock()));
  const std::unique_ptr<event_loop::WorkerPool> pool = Made(event_loop::WorkerPool::Start(*loop, {{.name = "disk"}}));
  event_loop::WorkerLane& workers = pool->lane("disk");
  core::Node core{
      {.store = store, .tree = tree, .runtime = *runtime, .events = events, .clock = steps, .executor = workers},
      node,
      {.pods = {.node_name = "n1"}}};
  PodManager manager{core, {.log_dir = logs.path()}, {.probes = workers, .hooks = workers, .plugins = workers}};
};

TEST_F(NeverWaitsTest, FiveHundredPodsOnASlowDiskArriveWhileTheLoopTurns) {
  loop_thread.Assert();
  SourceFeed feed(*loop, workers, std::make_unique<SlowSource>(slow, Made(os::EventFd::Open())),
                  [&](pod_sources::Snapshot snapshot, os::MonoTime)
                      BERTH_REQUIRES(loop_thread) { manager.OnSnapshot(std::move(snapshot)); });
  ASSERT_TRUE(manager.Start(std::nullopt, os::SystemClock().Now()));
  ASSERT_TRUE(loop->Watch(runtime->event_fd(), "runtime",
                          [&](os::MonoTime now) BERTH_REQUIRES(loop_thread) { manager.OnRuntime(now); }));
  loop->Keep(
      "sync", [&] { return manager.next_due(); },
      [&](os::MonoTime now) BERTH_REQUIRES(loop_thread) { manager.Tick(now); });
  ASSERT_TRUE(feed.Start());

  std::size_t most = 0;  // pods that came to run in one turn
  loop->EachTurn("count", [&, last = std::size_t{0}](os::MonoTime) BERTH_REQUIRES(loop_thread) mutable {
    const std::size_t now = Running();
    most = std::max(most, now - std::min(now, last));
    last = now;
    if (now == kPods) loop->Stop();
  });
  ASSERT_TRUE(loop->Run());

  EXPECT_LE(most, 30U) << "a slice is 10 looks at the clock; nobody was served between that many pods";
  EXPECT_GE(slow.calls, 2);
  EXPECT_EQ(0, slow.on_loop) << "somebody waited on the loop's thread";
  const event_loop::AwayFigures figures = loop->figures();
  RecordProperty("longest_away_us", std::to_string(figures.longest.time / std::chrono::microseconds(1)));
  RecordProperty("longest_away_what", figures.longest.what);
  EXPECT_TRUE(workers.Stop(os::Millis(60'000)));
}

TEST_F(NeverWaitsTest, FiveHundredContainersThatDieAtOnceAreHeardOfWhileTheLoopTurns) {
  loop_thread.Assert();
  ASSERT_TRUE(manager.Start(std::nullopt, os::SystemClock().Now()));
  ASSERT_TRUE(loop->Watch(runtime->event_fd(), "runtime",
                          [&](os::MonoTime now) BERTH_REQUIRES(loop_thread) { manager.OnRuntime(now); }));
  loop->Keep(
      "sync", [&] { return manager.next_due(); },
      [&](os::MonoTime now) BERTH_REQUIRES(loop_thread) { manager.Tick(now); });
  std::vector<Pod> pods;
  for (int i = 0; i < kPods; ++i) pods.push_back(MakePod("p" + std::to_string(i), "1m", QosClass::kBurstable));
  manager.OnSnapshot(Wanting(pods));
  std::size_t most = 0;  // events of one turn
  bool killed = false;
  loop->EachTurn("count", [&, last = std::uint64_t{0}](os::MonoTime) BERTH_REQUIRES(loop_thread) mutable {
    if (killed) most = std::max(most, static_cast<std::size_t>(events.added() - last));
    last = events.added();
    const auto died = std::ranges::count(events.events(), "ContainerDied", &Event::reason);
    if (died == kPods) loop->Stop();
    if (killed || Running() < kPods) return;
    killed = true;
    const auto running = runtime->List();
    ASSERT_TRUE(running);
    for (const runtime::ContainerStatus& status : *running) ASSERT_TRUE(runtime->Signal(status.id, SIGKILL));
  });
  ASSERT_TRUE(loop->Run());
  EXPECT_LE(most, 60U) << "a slice is 10 looks at the clock; nobody was served between that many ends";
  EXPECT_TRUE(workers.Stop(os::Millis(60'000)));
}

}  // namespace
}  // namespace berth::daemon
