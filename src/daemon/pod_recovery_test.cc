// Starts without a ledger of Berth's own: after every copy was lost, and on a node that ran a kubelet.
#include <gtest/gtest.h>

#include <algorithm>

#include "allocator/testing/builders.h"
#include "daemon/fake_node_test.h"
#include "daemon/fake_plugins_test.h"
#include "host/cgroup/observe.h"
#include "model/promises.h"
#include "node/checkpoint/ledger_import.h"

namespace berth::daemon {
namespace {

allocator::Node SixteenCpus(bool pin_memory) {
  allocator::testing::Shape shape{.sockets = 1, .nodes_per_socket = 2, .cores_per_node = 4, .threads = 2};
  shape.adjacent = true;
  KubeletConfiguration config = allocator::testing::StaticConfig("0-1");
  config.topology_manager_policy = "best-effort";
  if (pin_memory) allocator::testing::PinMemory(config);
  auto node = allocator::Node::Make(allocator::testing::MakeMachine(shape), config);
  EXPECT_TRUE(node) << node.error().message;
  return *node;
}

Pod Pinned(const std::string& uid, const std::string& cpus) {
  return allocator::testing::MakePod(uid,
                                     {allocator::testing::MakeContainer("app", {{"cpu", cpus}, {"memory", "1Gi"}})});
}

Pod Shared(const std::string& uid) {
  Pod out;
  out.uid = uid;
  out.name = "pod-" + uid;
  out.containers.emplace_back().name = "app";
  return out;
}

struct PodRecoveryTest : testing::Test {
  explicit PodRecoveryTest(bool pin_memory = false) : world(SixteenCpus(pin_memory)) { world.steps.set_check(nullptr); }

  std::unique_ptr<TestManager> Boot() {
    auto manager = world.Boot();
    const auto started = manager->Start(world.store.saved, world.clock.Now());
    EXPECT_TRUE(started) << started.error().message;
    return manager;
  }
  CpuSet At(const std::string& path) {
    const auto cpus = world.tree.ReadCpus(path);
    return cpus ? *cpus : CpuSet();
  }
  bool HasEvent(std::string_view reason) {
    return std::ranges::any_of(world.events.events(), [&](const Event& e) { return e.reason == reason; });
  }
  void Reconcile(TestManager& manager) {
    world.clock.Advance(std::chrono::seconds(11));
    manager.Sync(world.clock.Now());
  }

  FakeNode world;
};

TEST_F(PodRecoveryTest, LosingEveryCopyOfTheLedgerMovesNobody) {
  const std::vector<Pod> pods = {Pinned("a", "2"), Pinned("b", "4"), Shared("s")};
  Ledger before;
  {
    auto manager = Boot();
    manager->OnSnapshot(Wanting(pods), world.clock.Now());
    before = manager->ledger();
    ASSERT_EQ(ExclusiveCpus(before).Count(), 6);
  }
  world.store.saved.reset();
  world.steps.ClearLog();
  auto manager = Boot();
  EXPECT_TRUE(HasEvent("LedgerRebuilt"));
  EXPECT_EQ(manager->ledger().shared, before.shared);
  EXPECT_EQ(world.store.saved->ledger, manager->ledger()) << "what was found is durable before anything follows it";
  EXPECT_EQ(world.steps.Find("cpus"), -1);
  manager->OnSnapshot(Wanting(pods), world.clock.Now());
  for (const auto& [uid, record] : before.pods) {
    const PodRecord& now = manager->ledger().pods.find(uid)->second;
    EXPECT_FALSE(now.partial);
    EXPECT_EQ(now.name, record.name);
    EXPECT_EQ(now.requests, record.requests);
    EXPECT_EQ(ExclusiveCpus(now), ExclusiveCpus(record)) << uid;
  }
  EXPECT_TRUE(Contradictions(manager->ledger()).empty());
  EXPECT_EQ(world.steps.Find("signal"), -1);
  EXPECT_EQ(world.steps.Find("start"), -1);
  EXPECT_EQ(world.steps.Find("cpus"), -1);
  manager->OnSnapshot(Wanting({}), world.clock.Now());
  manager->OnRuntime(world.clock.Now());
  EXPECT_TRUE(manager->ledger().pods.empty());
  EXPECT_EQ(manager->ledger().shared, world.node.all_cpus()) << "all that was taken comes back";
}

TEST_F(PodRecoveryTest, APodWithoutManifestIsEndedAlsoAfterTheLedgerWasLost) {
  {
    auto manager = Boot();
    manager->OnSnapshot(Wanting({Pinned("a", "2"), Shared("s")}), world.clock.Now());
  }
  world.store.saved.reset();
  auto manager = Boot();
  manager->OnSnapshot(Wanting({Shared("s")}), world.clock.Now());
  manager->OnRuntime(world.clock.Now());
  EXPECT_FALSE(world.runtime.Runs("a", "app"));
  EXPECT_TRUE(world.runtime.Runs("s", "app"));
  EXPECT_EQ(manager->ledger().shared, world.node.all_cpus());
}

struct PinnedMemoryRecoveryTest : PodRecoveryTest {
  PinnedMemoryRecoveryTest() : PodRecoveryTest(true) {}
};

TEST_F(PinnedMemoryRecoveryTest, MemoryIsBookedAgainWhenTheManifestIsRead) {
  const std::vector<Pod> pods = {Pinned("a", "2"), Pinned("b", "2")};
  Ledger before;
  {
    auto manager = Boot();
    manager->OnSnapshot(Wanting(pods), world.clock.Now());
    before = manager->ledger();
    ASSERT_TRUE(before.pods.find("a")->second.placements.front().memory);
  }
  world.store.saved.reset();
  auto manager = Boot();
  manager->OnSnapshot(Wanting(pods), world.clock.Now());
  EXPECT_TRUE(Contradictions(manager->ledger()).empty());
  for (const auto& [uid, record] : before.pods)
    EXPECT_EQ(manager->ledger().pods.find(uid)->second.placements.front().memory, record.placements.front().memory);
  for (const auto& [id, node] : before.memory) EXPECT_EQ(manager->ledger().memory.find(id)->second.types, node.types);
}

/// A node whose kubelet (policy static) ran two pinned containers and one in the shared pool, all still running.
struct KubeletNodeTest : PodRecoveryTest {
  void SetUp() override {
    Run("kubepods/poduid-1/3f2a", "4-7");
    Run("kubepods/poduid-1/pause", "0-15");
    Run("kubepods/poduid-2/77c1", "8-9");
    Run("kubepods/burstable/poduid-3/51ee", "0-3,10-15");
    const auto cpu = checkpoint::ParseKubeletCpuState(kState);
    ASSERT_TRUE(cpu) << cpu.error().message;
    auto running = cgroup::ObserveRunning(world.tree, {});
    ASSERT_TRUE(running);
    imported = checkpoint::ImportKubelet({.cpu = *cpu, .memory = {}, .devices = {}}, &*running).ledger;
    world.store.saved = checkpoint::Saved{imported, "", ""};
  }
  void Run(const std::string& path, std::string_view cpus) {
    ASSERT_TRUE(world.tree.Create(path));
    world.tree.ForeignWrite(path, allocator::testing::Cpus(cpus));
    world.tree.stuck.insert(path);
  }

  static constexpr std::string_view kState =
      R"({"policyName":"static","defaultCpuSet":"0-3,10-15","entries":{"uid-1":{"main":"4-7"},"uid-2":{"db":"8-9"}},"checksum":0})";
  Ledger imported;
};

TEST_F(KubeletNodeTest, NobodyMovesAndNobodyIsEnded) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({}), world.clock.Now());
  Reconcile(*manager);
  Reconcile(*manager);
  EXPECT_EQ(FormatIds(At("kubepods/poduid-1/3f2a")), "4-7");
  EXPECT_EQ(FormatIds(At("kubepods/poduid-2/77c1")), "8-9");
  EXPECT_EQ(FormatIds(At("kubepods/burstable/poduid-3/51ee")), "0-3,10-15");
  EXPECT_EQ(FormatIds(At("kubepods/poduid-1/pause")), "0-3,10-15") << "the kubelet leaves it on everybody's CPUs";
  EXPECT_EQ(manager->ledger().pods.size(), 3U);
  EXPECT_EQ(world.steps.Find("signal"), -1);
  EXPECT_EQ(world.steps.Find("rmdir"), -1);
  EXPECT_TRUE(manager->idle()) << "what others started does not keep berthd from stopping";
}

TEST_F(KubeletNodeTest, NewPodsTakeFromTheSharedPoolOnly) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({Pinned("new", "2")}), world.clock.Now());
  ASSERT_TRUE(world.runtime.Runs("new", "app"));
  const CpuSet taken = ExclusiveCpus(manager->ledger().pods.find("new")->second);
  EXPECT_TRUE(taken.IsSubsetOf(allocator::testing::Cpus("2-3,10-15")));
  EXPECT_EQ(FormatIds(At("kubepods/poduid-1/3f2a")), "4-7");
  EXPECT_EQ(At("kubepods/burstable/poduid-3/51ee"), allocator::testing::Cpus("0-3,10-15") - taken)
      << "the pool shrank for all who share it";
}

TEST_F(KubeletNodeTest, APlaceComesBackWhenTheContainersEnd) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({}), world.clock.Now());
  world.tree.stuck.erase("kubepods/poduid-2/77c1");
  Reconcile(*manager);
  manager->Sync(world.clock.Now());
  EXPECT_FALSE(manager->ledger().pods.contains("uid-2"));
  EXPECT_EQ(FormatIds(manager->ledger().shared), "0-3,8-15");
  EXPECT_EQ(FormatIds(At("kubepods/burstable/poduid-3/51ee")), "0-3,8-15");
}

TEST_F(KubeletNodeTest, TheSameManifestWaitsUntilTheContainersOfTheKubeletEnded) {
  Pod same = Pinned("uid-2", "2");
  auto manager = Boot();
  manager->OnSnapshot(Wanting({same}), world.clock.Now());
  EXPECT_FALSE(world.runtime.Runs("uid-2", "app"));
  world.tree.stuck.erase("kubepods/poduid-2/77c1");
  Reconcile(*manager);
  Reconcile(*manager);
  EXPECT_TRUE(world.runtime.Runs("uid-2", "app"));
  EXPECT_EQ(ExclusiveCpus(manager->ledger().pods.find("uid-2")->second).Count(), 2);
}

TEST_F(KubeletNodeTest, ARestartOfBerthdChangesNothing) {
  {
    Boot();
  }
  const Ledger before = world.store.saved->ledger;
  auto manager = Boot();
  EXPECT_EQ(manager->ledger(), before);
  EXPECT_EQ(FormatIds(At("kubepods/poduid-1/3f2a")), "4-7");
}

TEST_F(KubeletNodeTest, WithoutTheFilesWhoRunsAloneStaysAlone) {
  world.tree.stuck.erase("kubepods/poduid-1/pause");  // it may run everywhere, so nobody runs alone beside it
  world.store.saved.reset();
  auto manager = Boot();
  EXPECT_EQ(FormatIds(ExclusiveCpus(manager->ledger())), "4-9");
  EXPECT_EQ(FormatIds(At("kubepods/poduid-1/3f2a")), "4-7");
  EXPECT_EQ(FormatIds(At("kubepods/poduid-2/77c1")), "8-9");
}

/// A pod with CPUs of its own that the runtime of an earlier berthd started; this one's runtime does not know it.
struct OtherRuntimeTest : PodRecoveryTest {
  void SetUp() override {
    const std::string folder = world.logs / "volumes";
    world.pod_options.volumes = {.disk = folder + "/disk", .memory = folder + "/memory", .pins = folder + "/pins"};
    auto manager = Boot();
    manager->OnSnapshot(Wanting({pod}), world.clock.Now());
    ASSERT_TRUE(world.runtime.Runs("a", "app"));
    had = ExclusiveCpus(manager->ledger().pods.find("a")->second);
    ASSERT_EQ(had.Count(), 2);
    manager.reset();
    world.runtime.containers.clear();
    world.steps.ClearLog();
  }
  /// Boots while `group` has a process that does not die at once, then lets it die.
  void BootBeside(const std::string& group) {
    world.tree.stuck.insert(group);
    auto manager = Boot();
    EXPECT_TRUE(HasEvent("ContainerLost"));
    manager->OnSnapshot(Wanting({pod, Pinned("b", "2")}), world.clock.Now());
    EXPECT_FALSE(world.runtime.Runs("a", "app"));
    ASSERT_TRUE(manager->ledger().pods.contains("a")) << "its place is kept while something runs there";
    EXPECT_EQ(ExclusiveCpus(manager->ledger().pods.find("a")->second), had);
    ASSERT_TRUE(world.runtime.Runs("b", "app"));
    EXPECT_FALSE(ExclusiveCpus(manager->ledger().pods.find("b")->second).Intersects(had));
    world.tree.stuck.clear();
    for (int second = 0; second < 12 && !world.runtime.Runs("a", "app"); ++second) Second(*manager);
    EXPECT_TRUE(world.runtime.Runs("a", "app"));
    EXPECT_LT(world.steps.Find("rmdir kubepods/poda"),
              world.steps.Find("start app", world.steps.Find("start app") + 1));
  }
  void Second(TestManager& manager) {
    world.clock.Advance(std::chrono::seconds(1));
    manager.Sync(world.clock.Now());
  }
  Pod pod = Pinned("a", "2");
  CpuSet had;
};

TEST_F(OtherRuntimeTest, ProcessesOfAContainerRuntimeEndBeforeThePodIsStartedAnew) {
  ASSERT_TRUE(world.tree.Create("kubepods/poda/3f2a"));
  BootBeside("kubepods/poda/3f2a");
}

TEST_F(OtherRuntimeTest, PlainProcessesEndBeforeAContainerRuntimeStartsThePodAnew) {
  world.options.ownership = &cgroup_manager::OwnsPods();
  BootBeside("kubepods/poda/app");
}

/// It has the node's one device, too.
struct OtherRuntimeDeviceTest : OtherRuntimeTest {
  OtherRuntimeDeviceTest() : plugins(world.steps) {
    world.plugins = &plugins;
    plugins.Serve(Gpus(1));
    WantGpus(pod.containers.front(), "1");
    WantGpus(other.containers.front(), "1");
  }
  bool Runs(const std::string& uid) const { return world.runtime.Runs(uid, "app"); }
  Pod other = Pinned("b", "2");
  FakePlugins plugins;
};

TEST_F(OtherRuntimeDeviceTest, ItsDeviceIsNobodyElsesUntilItsProcessesEnded) {
  ASSERT_TRUE(world.tree.Create("kubepods/poda/3f2a"));
  world.tree.stuck.insert("kubepods/poda/3f2a");
  auto manager = Boot();
  manager->OnSnapshot(Wanting({pod, other}), world.clock.Now());
  for (int second = 0; second < 12; ++second) {
    Second(*manager);
    EXPECT_FALSE(Runs("a") || Runs("b"));
    ASSERT_TRUE(manager->ledger().pods.contains("a"));
    const auto& devices = manager->ledger().pods.find("a")->second.placements.front().devices;
    ASSERT_EQ(devices.size(), 1U);
    EXPECT_EQ(devices.front().ids, std::vector<std::string>{"d0"});
    EXPECT_FALSE(manager->ledger().pods.contains("b"));
  }
  EXPECT_EQ(plugins.calls, std::vector<std::string>{"allocate d0"}) << "of the first berthd";
  world.steps.ClearLog();
  world.tree.stuck.clear();
  for (int second = 0; second < 120 && !Runs("a") && !Runs("b"); ++second) Second(*manager);
  EXPECT_NE(Runs("a"), Runs("b")) << "there is one device";
  EXPECT_EQ(plugins.calls.size(), 2U);
  ASSERT_GE(world.steps.Find("rmdir kubepods/poda"), 0);
  EXPECT_LT(world.steps.Find("rmdir kubepods/poda"), world.steps.Find("allocate d0"));
}

TEST_F(OtherRuntimeTest, AnEndThatIsUnderWayIsGoneOnWithByTheNextBerthd) {
  world.options.ownership = &cgroup_manager::OwnsPods();
  world.tree.stuck.insert("kubepods/poda/app");
  for (int berthds = 0; berthds < 3; ++berthds) {
    auto manager = Boot();
    manager->OnSnapshot(Wanting({pod}), world.clock.Now());
    EXPECT_FALSE(world.runtime.Runs("a", "app"));
    EXPECT_EQ(ExclusiveCpus(manager->ledger().pods.find("a")->second), had);
  }
}

TEST_F(OtherRuntimeTest, ABerthdWithTheSameRuntimeEndsNobody) {
  world.tree.stuck.insert("kubepods/poda/app");  // left by a container that has ended: swept before its next attempt
  auto manager = Boot();
  for (const Event& event : world.events.events()) EXPECT_FALSE(event.message.contains("another runtime"));
  EXPECT_TRUE(manager->pods().find("a")->second.Is<pods::Admitted>());
}

}  // namespace
}  // namespace berth::daemon
