// A machine that changes while berthd runs: CPUs, nodes, memory and huge pages that come and go.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "allocator/testing/builders.h"
#include "daemon/fake_node_test.h"
#include "daemon/machine_fingerprint.h"
#include "daemon/snapshot_builder.h"
#include "kubernetes/node_publisher/topology.h"
#include "model/machine_change.h"
#include "model/promises.h"

namespace berth::daemon {
namespace {

constexpr os::Millis kGlance{2'000};

allocator::testing::Shape TwoNodes() {
  allocator::testing::Shape out{.sockets = 1, .nodes_per_socket = 2, .cores_per_node = 2, .threads = 1};
  out.node_memory = GiB(2);
  return out;
}

Result<allocator::Node> NodeOf(const Machine& machine) {
  KubeletConfiguration config = allocator::testing::StaticConfig("0");
  allocator::testing::PinMemory(config, "256Mi");
  return allocator::Node::Make(machine, config);
}

/// Four CPUs on two nodes with 2 GiB each.
struct HotplugTest : testing::Test {
  HotplugTest() : machine(allocator::testing::MakeMachine(TwoNodes())), world(*NodeOf(machine)) {
    world.options.reconciler.machine.glance = [this] {
      ++glances;
      return Result<Machine>(machine);
    };
    world.options.reconciler.machine.look = [this](const Machine& known) -> Result<reconciler::LookedAt> {
      ++looks;
      const Machine now = WithCpusOf(machine, known);
      BERTH_TRY(allocator::Node node, NodeOf(now));
      return reconciler::LookedAt{std::move(node), MachineFingerprint(now), fitted};
    };
    world.options.boot.machine_fingerprint = MachineFingerprint(machine);
    world.tree.online = machine.online;
  }

  std::unique_ptr<TestManager> Boot(const std::vector<Pod>& pods) {
    auto manager = world.Boot();
    const auto started = manager->Start(world.store.saved, world.clock.Now());
    EXPECT_TRUE(started) << started.error().message;
    manager->OnSnapshot(Wanting(pods), world.clock.Now());
    return manager;
  }
  /// Time for two looks at memory.
  void Pass(TestManager& manager) {
    for (int i = 0; i < 3; ++i) {
      world.clock.Advance(kGlance);
      manager.Sync(world.clock.Now());
    }
  }
  /// The machine is another, as kernel and berthd see it.
  void Change(const allocator::testing::Shape& shape) {
    machine = allocator::testing::MakeMachine(shape);
    world.tree.online = machine.online;
    CgroupValues root;
    root.cpus = machine.online;
    root.mems = NodeIds(machine);
    world.tree.ForeignWrite("", root);
  }
  void ChangeMemory(std::size_t node, Bytes memory) {
    machine.memory += memory - machine.nodes[node].memory;
    machine.nodes[node].memory = memory;
  }
  std::vector<std::string> Said(std::string_view reason) {
    std::vector<std::string> out;
    for (const Event& event : world.events.events())
      if (event.reason == reason) out.push_back(event.message);
    return out;
  }
  static Pod WithMemory(const std::string& name, const std::string& cpus, const std::string& memory) {
    Pod pod = MakePod(name, cpus);
    Resources& resources = pod.containers[0].resources;
    resources.requests["memory"] = resources.limits["memory"] = *Quantity::Parse(memory);
    return pod;
  }
  std::string MemsOf(const char* path) { return FormatIds(world.tree.Read(path)->mems.value_or(NodeSet())); }
  std::string CpusOf(const char* path) { return FormatIds(world.tree.Read(path)->cpus.value_or(CpuSet())); }
  Bytes Room(const TestManager& manager, unsigned node) {
    return manager.ledger().memory.at(NumaId{node}).types.at("memory").free;
  }

  Machine machine;
  FakeNode world;
  std::vector<std::string> fitted;
  int glances = 0;
  int looks = 0;
  const Pod back = MakePod("back", "", QosClass::kBestEffort);
};

TEST_F(HotplugTest, AMachineThatStaysAsItIsIsOnlyGlancedAt) {
  auto manager = Boot({back});
  for (int i = 0; i < 5; ++i) Pass(*manager);
  EXPECT_EQ(looks, 0);
  EXPECT_LE(glances, 17);
  EXPECT_TRUE(Said("MachineChanged").empty());
}

TEST_F(HotplugTest, ANodeWithCpusAndMemoryJoins) {
  auto manager = Boot({back, WithMemory("web", "2", "1Gi")});
  manager->OnSnapshot(Wanting({back, WithMemory("web", "2", "1Gi"), WithMemory("large", "2", "3Gi")}),
                      world.clock.Now());
  EXPECT_FALSE(world.runtime.Runs("uid-large", "large"));
  const std::string mine = CpusOf(kWeb);
  allocator::testing::Shape three = TwoNodes();
  three.nodes_per_socket = 3;
  Change(three);
  Pass(*manager);
  ASSERT_EQ(Said("MachineChanged").size(), 1U);
  EXPECT_EQ(Said("MachineChanged").front(), "CPUs 4-5 joined; NUMA nodes 2 joined; node 2 has 2Gi of memory (was 0)");
  EXPECT_EQ(CpusOf(kWeb), mine);
  EXPECT_TRUE(world.runtime.Runs("uid-large", "large")) << "decided again";
  EXPECT_EQ(MemsOf(kBack), "0-2");
  EXPECT_TRUE(Said("CgroupRepaired").empty()) << Said("CgroupRepaired").front();
  EXPECT_EQ(manager->node().allocatable().at("cpu").Value(), 5);
  EXPECT_EQ(world.store.saved->machine_fingerprint, MachineFingerprint(machine));
  EXPECT_TRUE(Contradictions(manager->ledger()).empty());
}

TEST_F(HotplugTest, WhatOthersAreToldFollows) {
  auto manager = Boot({back});
  SnapshotBuilder snapshots(manager->bare(), world.events, {});
  const auto zones = [&]() BERTH_REQUIRES(loop_thread) {
    const auto state = snapshots.Build();
    EXPECT_TRUE(state);
    if (!state) return codec::Json();
    EXPECT_EQ(state->node.machine->nodes.size(), machine.nodes.size());
    return node_publisher::NodeResourceTopology("n1", state->node, state->engine->config(), {}).at("zones");
  };
  EXPECT_EQ(zones().size(), 2U);
  allocator::testing::Shape three = TwoNodes();
  three.nodes_per_socket = 3;
  Change(three);
  Pass(*manager);
  const codec::Json now = zones();
  ASSERT_EQ(now.size(), 3U);
  EXPECT_NE(now[2].dump().find("\"cpu\""), std::string::npos);
}

TEST_F(HotplugTest, MemoryThatComesInPiecesIsFollowedOnceItStays) {
  auto manager = Boot({back});
  for (int piece = 1; piece <= 4; ++piece) {
    ChangeMemory(1, GiB(2) + MiB(128 * piece));
    world.clock.Advance(kGlance);
    manager->Sync(world.clock.Now());
  }
  EXPECT_EQ(looks, 0);
  Pass(*manager);
  EXPECT_EQ(looks, 1);
  EXPECT_EQ(Said("MachineChanged"), std::vector<std::string>{"node 1 has 2560Mi of memory (was 2Gi)"});
  EXPECT_EQ(Room(*manager, 1), GiB(2) + MiB(512));
}

TEST_F(HotplugTest, HugePagesThatAreMadeWhileItRunsAreGiven) {
  auto manager = Boot({back});
  for (NumaNode& node : machine.nodes) node.hugepages = {{MiB(2), 64}};
  machine.hugepages = {{MiB(2), 128}};
  Pass(*manager);
  ASSERT_EQ(Said("MachineChanged").size(), 1U);
  EXPECT_EQ(manager->node().allocatable().at("hugepages-2Mi").Value(), MiB(256).v);
  Pod huge = WithMemory("huge", "1", "1Mi");
  Resources& resources = huge.containers[0].resources;
  resources.requests["hugepages-2Mi"] = resources.limits["hugepages-2Mi"] = *Quantity::Parse("128Mi");
  manager->OnSnapshot(Wanting({back, huge}), world.clock.Now());
  EXPECT_TRUE(world.runtime.Runs("uid-huge", "huge"));
}

TEST_F(HotplugTest, MemoryThatGoesTakesTheBookingOfThePodAdmittedLast) {
  auto manager = Boot({back, WithMemory("web", "1", "1536Mi"), WithMemory("late", "1", "2Gi")});
  ASSERT_TRUE(world.runtime.Runs("uid-late", "late"));
  ChangeMemory(1, GiB(1));
  Pass(*manager);
  EXPECT_EQ(Said("MachineChanged"), std::vector<std::string>{"node 1 has 1Gi of memory (was 2Gi)"});
  ASSERT_EQ(Said("LedgerAdapted").size(), 1U);
  EXPECT_NE(Said("LedgerAdapted").front().find("not booked any more"), std::string::npos);
  EXPECT_TRUE(world.runtime.Runs("uid-web", "web"));
  EXPECT_TRUE(world.runtime.Runs("uid-late", "late"));
  EXPECT_TRUE(Contradictions(manager->ledger()).empty());
}

TEST_F(HotplugTest, CpusThatAreOfflineWhileMemoryChangesStayPromised) {
  world.steps.set_check(nullptr);  // a CPU that is offline is in nobody's set
  auto manager = Boot({back, WithMemory("web", "2", "1Gi")});
  const CpuSet mine = ExclusiveCpus(manager->ledger());
  ASSERT_EQ(mine.Count(), 2);
  allocator::testing::Shape shape = TwoNodes();
  shape.offline = mine;
  Change(shape);
  ChangeMemory(1, GiB(4));
  Pass(*manager);
  ASSERT_EQ(Said("MachineChanged").size(), 1U);
  EXPECT_EQ(ExclusiveCpus(manager->ledger()), mine);
  EXPECT_EQ(manager->node().all_cpus().Count(), 4);
  shape.offline = {};
  Change(shape);
  ChangeMemory(1, GiB(4));
  Pass(*manager);
  EXPECT_EQ(CpusOf(kWeb), FormatIds(mine));
}

TEST_F(HotplugTest, AMachineThatTheSettingsDoNotFitIsToldOnceAndNotFollowed) {
  auto manager = Boot({back, WithMemory("web", "2", "1Gi")});
  const Ledger before = manager->ledger();
  ChangeMemory(0, MiB(100));  // less than is reserved
  ChangeMemory(1, MiB(100));
  for (int i = 0; i < 30; ++i) Pass(*manager);
  ASSERT_EQ(Said("MachineNotFollowed").size(), 1U);
  EXPECT_NE(Said("MachineNotFollowed").front().find("decisions are made for the machine as it was"), std::string::npos);
  EXPECT_EQ(manager->ledger(), before);
  EXPECT_LE(looks, 9) << "twice, and again every half a minute";
  machine = allocator::testing::MakeMachine(TwoNodes());
  ChangeMemory(1, GiB(3));
  Pass(*manager);
  EXPECT_EQ(Said("MachineChanged").size(), 1U);
}

TEST_F(HotplugTest, SettingsThatHadToBeFittedAreTold) {
  auto manager = Boot({back});
  fitted = {"reservedMemory: this machine has no NUMA node 3; its reservation is taken on node 0"};
  ChangeMemory(1, GiB(3));
  Pass(*manager);
  ChangeMemory(1, GiB(4));
  Pass(*manager);
  EXPECT_EQ(Said("SettingsFitted"), fitted);
}

TEST_F(HotplugTest, AMachineWaitsForALedgerThatCannotBeSaved) {
  auto manager = Boot({back});
  world.store.full = true;
  ChangeMemory(1, GiB(3));
  Pass(*manager);
  EXPECT_EQ(Room(*manager, 1), GiB(2));
  EXPECT_TRUE(Said("MachineChanged").empty());
  world.store.full = false;
  for (int i = 0; i < 10; ++i) Pass(*manager);
  EXPECT_EQ(Room(*manager, 1), GiB(3));
  EXPECT_EQ(Said("MachineChanged").size(), 1U);
}

TEST_F(HotplugTest, KilledAtAnyStepEveryPromiseHolds) {
  const std::vector<Pod> pods = {back, WithMemory("web", "2", "1Gi"), WithMemory("large", "2", "3Gi")};
  const Machine small = machine;
  allocator::testing::Shape three = TwoNodes();
  three.nodes_per_socket = 3;
  bool finished = false;
  for (int at = 0; !finished; ++at) {
    ASSERT_LT(at, 200);
    FakeNode fresh(*NodeOf(small));
    fresh.options = world.options;
    machine = small;
    fresh.tree.online = machine.online;
    auto manager = fresh.Boot();
    ASSERT_TRUE(manager->Start(std::nullopt, fresh.clock.Now()));
    manager->OnSnapshot(Wanting(pods), fresh.clock.Now());
    const CpuSet mine = ExclusiveCpus(manager->ledger());
    machine = allocator::testing::MakeMachine(three);
    fresh.tree.online = machine.online;
    CgroupValues root;
    root.cpus = machine.online;
    root.mems = NodeIds(machine);
    fresh.tree.ForeignWrite("", root);
    fresh.steps.DieAt(at);
    try {
      for (int i = 0; i < 3; ++i) {
        fresh.clock.Advance(kGlance);
        manager->Sync(fresh.clock.Now());
      }
      finished = true;
    } catch (const Died&) {
    }
    fresh.node = *NodeOf(machine);
    manager = fresh.Boot();
    ASSERT_TRUE(manager->Start(fresh.store.saved, fresh.clock.Now()));
    manager->OnSnapshot(Wanting(pods), fresh.clock.Now());
    EXPECT_TRUE(mine.IsSubsetOf(ExclusiveCpus(manager->ledger()))) << "killed at " << at;
    EXPECT_TRUE(Contradictions(manager->ledger()).empty()) << "killed at " << at;
    EXPECT_TRUE(fresh.runtime.Runs("uid-large", "large")) << "killed at " << at;
  }
}

}  // namespace
}  // namespace berth::daemon
