// Pods on a node whose systemd answers each question late, over a real D-Bus connection: nobody waits for it on the
// loop's thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/loop_thread.h"
#include "daemon/fake_node_test.h"
#include "host/cgroup/played_systemd_test.h"
#include "host/cgroup/systemd.h"
#include "host/cgroup/systemd_peer_test.h"
#include "host/cgroup/systemd_tree.h"
#include "host/event_loop/loop.h"
#include "host/event_loop/worker_pool.h"
#include "testing/fault_fs.h"

namespace berth::daemon {
namespace {

constexpr os::Millis kLate{40};
constexpr int kSlowPods = 4;
/// Some twice what was seen (222): a turn looks at all groups once at most, and goes on with each pod.
constexpr int kMostFileCalls = 500;

/// Counts what its thread asks for.
class CountingFs final : public testkit::FsWrapper {
 public:
  CountingFs(os::Fs& target, int& calls) : FsWrapper(target), calls_(calls) {}
  Result<std::string> Read(std::string_view path) override { return Counted().Read(path); }
  Result<void> Write(std::string_view path, std::string_view s) override { return Counted().Write(path, s); }
  Result<std::vector<std::string>> List(std::string_view path) override { return Counted().List(path); }
  Result<bool> Exists(std::string_view path) override { return Counted().Exists(path); }

 private:
  os::Fs& Counted() {
    if (std::this_thread::get_id() == thread_) ++calls_;
    return target();
  }
  const std::thread::id thread_ = std::this_thread::get_id();
  int& calls_;
};

allocator::Node SmallNode() {
  KubeletConfiguration config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0";
  auto machine = machine::ParseSynthetic("numa:1 core:4 pu:1");
  BERTH_CHECK(machine.has_value());
  auto node = allocator::Node::Make(*machine, config);
  BERTH_CHECK(node.has_value());
  return *std::move(node);
}

struct SlowSystemdTest : testing::Test {
  template <class T>
  static T Made(Result<T> result) {
    if (!result) ADD_FAILURE() << result.error().message;
    BERTH_CHECK(result.has_value());
    return *std::move(result);
  }
  std::unique_ptr<cgroup::Tree> OpenTree() {
    return Made(cgroup::OpenSystemdTree(std::make_unique<CountingFs>(world.fs, file_calls),
                                        Made(cgroup::DiscoverLayout(world.fs)), "/", cgroup::HostDoors(),
                                        cgroup::OpenSystemd(peer.address())));
  }
  bool AllRun() const {
    return std::ranges::count_if(core.pods(), [](const auto& pod) {
             return pod.second.lifecycle && pod.second.lifecycle->phase() == PodPhase::kRunning;
           }) == kSlowPods;
  }

  /// As the kernel tells it when systemd writes to groups: what it holds is looked at soon.
  void SayThatSystemdWrote() {
    os::WriteWatch::Writes writes;
    const cgroup_manager::GroupTable& table = core.groups().table();
    const auto add = [&](const std::string& path) {
      writes.list.push_back({.path = table.CpusetDir(path) + "/cpuset.cpus", .pid = 1, .who = "systemd"});
    };
    for (const auto& [uid, path] : table.pods()) add(path);
    for (const auto& [path, group] : table.containers()) add(path);
    core.OnWrites(std::move(writes), os::SystemClock().Now());
  }
  std::string Said(std::string_view reason) const {
    std::string out;
    for (const Event& event : events.events())
      if (event.reason == reason) out += event.object + ": " + event.message + "\n";
    return out;
  }

  testkit::TempDir folder;
  int file_calls = 0;  // of the loop's thread
  cgroup::PlayedSystemd::World world;
  cgroup::SystemdPeer peer{world, folder.path() + "/systemd"};
  const allocator::Node node = SmallNode();
  Steps steps;
  FakeStore store{steps};
  const std::unique_ptr<cgroup::Tree> tree = OpenTree();
  const std::unique_ptr<DryRunRuntime> runtime = Made(DryRunRuntime::Open(os::SystemClock()));
  events::EventLog events{os::SystemClock(), nullptr, 10'000};
  const std::unique_ptr<event_loop::Loop> loop = Made(event_loop::Loop::Open(os::SystemClock()));
  const std::unique_ptr<event_loop::WorkerPool> pool = Made(event_loop::WorkerPool::Start(*loop, {{.name = "disk"}}));
  event_loop::WorkerLane& workers = pool->lane("disk");
  core::Node core{{.store = store,
                   .tree = *tree,
                   .runtime = *runtime,
                   .events = events,
                   .clock = os::SystemClock(),
                   .executor = workers},
                  node,
                  {.pods = {.node_name = "n1"},
                   .cgroup_names = Made(cgroup::Names::Make(cgroup::Driver::kSystemd, "/", true)),
                   .reconcile_period = kLate / 10}};
  PodManager manager{core, {.log_dir = folder.path()}, {.probes = workers, .hooks = workers, .plugins = workers}};
};

TEST_F(SlowSystemdTest, PodsArriveWhileTheLoopTurns) {
  loop_thread.Assert();
  const auto started = manager.Start(std::nullopt, os::SystemClock().Now());
  ASSERT_TRUE(started) << started.error().message;
  tree->Rest();
  tree->WaitBehind(workers, [&] { core.OnGroupsAnswered(os::SystemClock().Now()); });
  peer.set_delay(kLate);
  ASSERT_TRUE(loop->Watch(runtime->event_fd(), "runtime",
                          [&](os::MonoTime now) BERTH_REQUIRES(loop_thread) { manager.OnRuntime(now); }));
  loop->Keep(
      "sync", [&] { return manager.next_due(); },
      [&](os::MonoTime now) BERTH_REQUIRES(loop_thread) { manager.Tick(now); });
  bool all_run = false;
  std::set<int> turned_at;  // by the number of the question that was not answered then
  int most = 0;             // calls of one turn
  loop->EachTurn("count", [&](os::MonoTime) BERTH_REQUIRES(loop_thread) {
    most = std::max(most, std::exchange(file_calls, 0));
    SayThatSystemdWrote();
    if (peer.is_asked()) turned_at.insert(peer.calls());
    if (!all_run && AllRun()) {
      all_run = true;  // what was made is looked at once more
      const os::MonoTime end = os::SystemClock().Now() + 2 * kLate;
      loop->Keep("end", [end] { return end; }, [&](os::MonoTime) BERTH_REQUIRES(loop_thread) { loop->Stop(); });
    }
  });
  std::vector<Pod> pods;
  for (int i = 0; i + 2 < kSlowPods; ++i)
    pods.push_back(MakePod("p" + std::to_string(i), "100m", QosClass::kBurstable));
  pods.push_back(MakePod("odd", "15m", QosClass::kGuaranteed));  // a quota that systemd cannot hold exactly
  pods.push_back(MakePod("own", "1", QosClass::kGuaranteed));
  const int before = peer.calls();
  file_calls = 0;
  loop->Post("manifests", [&]() BERTH_REQUIRES(loop_thread) { manager.OnSnapshot(Wanting(pods)); });
  ASSERT_TRUE(loop->Run());

  EXPECT_GE(peer.calls() - before, 3 * kSlowPods) << "systemd was to be asked for each of them";
  EXPECT_GE(2 * static_cast<int>(turned_at.size()), peer.calls() - before) << "the loop waited for systemd";
  EXPECT_LE(most, kMostFileCalls) << "this much the loop did in one turn";
  EXPECT_EQ("", Said("CgroupRepaired")) << "what systemd had not been told yet was taken for somebody's doing";
  EXPECT_EQ("", Said("UnknownGroup")) << "what systemd had just made was taken for somebody's";
  EXPECT_TRUE(workers.Stop(os::Millis(60'000)));
  tree->WaitHere();
  const Placement* own = FindPlacement(core.allocations().ledger().pods.at("uid-own"), "own");
  ASSERT_NE(nullptr, own);
  const std::string group = core.groups().table().ContainerPathOf(pods.back(), "own");
  EXPECT_EQ(FormatIds(own->cpus.value_or(CpuSet())), FormatIds(tree->ReadCpus(group).value_or(CpuSet())));
  for (const std::string& path : core.groups().site().OwnGroups())
    EXPECT_FALSE(tree->ReadCpus(path)->Intersects(*own->cpus)) << path;
}

}  // namespace
}  // namespace berth::daemon
