// 500 pods at once on a node whose disk takes 200 ms for whatever has to be durable, and whose sources are read slowly:
// nothing of that happens on the loop's thread, and the loop turns all the while.
//
// No clock is asserted: whoever is asked looks on whose thread he is, and pods are counted between two turns.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "daemon/dry_run.h"
#include "daemon/fake_node_test.h"
#include "daemon/source_feed.h"
#include "loop/loop.h"
#include "loop/workers.h"
#include "os/event_fd.h"

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

class SlowStore final : public state::Store {
 public:
  explicit SlowStore(Slow& slow) : slow_(slow) {}
  Result<std::optional<state::Saved>> Load(std::vector<std::string>*) override { return std::nullopt; }
  Result<void> Save(const state::Saved&) override {
    slow_.Take();
    return {};
  }

 private:
  Slow& slow_;
};

class SlowSource final : public source::Source {
 public:
  SlowSource(Slow& slow, os::EventFd fd) : slow_(slow), fd_(std::move(fd)) {}
  std::string name() const override { return "slow"; }
  int event_fd() const override { return fd_.get(); }
  os::MonoTime next_due() const override { return looked_ ? os::MonoTime::max() : os::MonoTime(); }
  std::optional<source::Snapshot> Poll(os::MonoTime) override {
    slow_.Take();
    looked_ = true;
    std::vector<Pod> pods;
    for (int i = 0; i < kPods; ++i) pods.push_back(MakePod("p" + std::to_string(i), "1m", QosClass::kBurstable));
    return Wanting(std::move(pods));
  }

 private:
  Slow& slow_;
  os::EventFd fd_;
  bool looked_ = false;
};

engine::Node NodeWithRoom() {
  KubeletConfiguration config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0";
  config.max_pods = 2 * kPods;
  auto machine = machine::ParseSynthetic("numa:1 core:4 pu:1");
  BERTH_CHECK(machine.has_value());
  auto node = engine::Node::Make(*machine, config);
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
    return static_cast<std::size_t>(std::ranges::count_if(manager.pods(), [](const auto& pod) {
      return pod.second.lifecycle && pod.second.lifecycle->phase() == PodPhase::kRunning;
    }));
  }

  Slow slow;
  const engine::Node node = NodeWithRoom();
  testkit::TempDir logs;
  SlowStore store{slow};
  DryRunTree tree{node.machine()};
  const std::unique_ptr<DryRunRuntime> runtime = Made(DryRunRuntime::Open(os::SystemClock()));
  events::EventLog events{os::SystemClock(), nullptr, 10'000};
  const std::unique_ptr<loop::Loop> loop = Made(loop::Loop::Open(os::SystemClock()));
  const std::unique_ptr<loop::Workers> workers = Made(loop::Workers::Start(*loop, {}));
  PodManager manager{{.store = store,
                      .tree = tree,
                      .runtime = *runtime,
                      .events = events,
                      .clock = os::SystemClock(),
                      .executor = *workers},
                     node,
                     {.pods = {.node_name = "n1", .log_dir = logs.path()}}};
};

TEST_F(NeverWaitsTest, FiveHundredPodsOnASlowDiskArriveWhileTheLoopTurns) {
  SourceFeed feed(*loop, *workers, std::make_unique<SlowSource>(slow, Made(os::EventFd::Open())),
                  [&](source::Snapshot snapshot, os::MonoTime now) { manager.OnSnapshot(std::move(snapshot), now); });
  ASSERT_TRUE(manager.Start(std::nullopt, os::SystemClock().Now()));
  ASSERT_TRUE(loop->Watch(runtime->event_fd(), "runtime", [&](os::MonoTime now) { manager.OnRuntime(now); }));
  loop->Keep("sync", [&] { return manager.next_due(); }, [&](os::MonoTime now) { manager.Tick(now); });
  ASSERT_TRUE(feed.Start());

  loop->EachTurn("count", [&](os::MonoTime) {
    if (Running() == kPods) loop->Stop();
  });
  ASSERT_TRUE(loop->Run());

  EXPECT_GE(slow.calls, 2);
  EXPECT_EQ(0, slow.on_loop) << "somebody waited on the loop's thread";
  const loop::AwayFigures figures = loop->figures();
  RecordProperty("longest_away_us", std::to_string(figures.longest.time / std::chrono::microseconds(1)));
  RecordProperty("longest_away_what", figures.longest.what);
  EXPECT_TRUE(workers->Stop(os::Millis(60'000)));
}

}  // namespace
}  // namespace berth::daemon
