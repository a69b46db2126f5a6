// Pods that share named CPU pools, from the manifest to the groups.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "daemon/fake_node_test.h"

namespace berth::daemon {
namespace {

allocator::Node NodeWithPools(const std::vector<std::string>& names = {"batch", "web"}) {
  auto machine = machine::ParseSynthetic("numa:1 core:8 pu:1");
  EXPECT_TRUE(machine);
  KubeletConfiguration config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0";
  allocator::EngineOptions options;
  for (const std::string& name : names) {
    PoolRule& rule = options.own.pools.emplace_back();
    rule.name = name;
    rule.namespaces = {"*"};
  }
  auto node = allocator::Node::Make(*machine, config, options);
  EXPECT_TRUE(node) << node.error().message;
  return *node;
}

Pod InPool(const std::string& name, const std::string& cpu, const std::string& pool,
           QosClass qos = QosClass::kBurstable) {
  Pod out = MakePod(name, cpu, qos);
  out.annotations["berth.dev/pool"] = pool;
  return out;
}

struct PoolPodTest : PodManagerTest {
  PoolPodTest() : PodManagerTest(NodeWithPools()) {}
  void Want(TestManager& manager, const std::vector<Pod>& pods) {
    manager.OnSnapshot(Wanting(pods), Now());
    manager.OnRuntime(Now());
    world.clock.Advance(os::Millis(1'000));
    manager.Sync(Now());
  }
};

TEST_F(PoolPodTest, GroupsFollowThePoolAsPodsComeAndGo) {
  auto manager = Boot();
  const Pod back = MakePod("back", "", QosClass::kBestEffort);
  const Pod one = InPool("one", "1500m", "batch");
  const Pod two = InPool("two", "2", "batch", QosClass::kGuaranteed);
  Want(*manager, {back, one});
  ASSERT_TRUE(world.runtime.Runs("uid-one", "one"));
  EXPECT_EQ(CpuTextAt("kubepods/burstable/poduid-one/one"), "1-2");
  EXPECT_EQ(CpuTextAt("kubepods/burstable"), "0-7") << "the class holds what its containers do";
  EXPECT_EQ(CpuTextAt("kubepods/besteffort"), "0,3-7");
  EXPECT_EQ(CpuTextAt("berth"), "0,3-7");

  Want(*manager, {back, one, two});
  ASSERT_TRUE(world.runtime.Runs("uid-two", "two"));
  EXPECT_EQ(CpuTextAt("kubepods/burstable/poduid-one/one"), "1-4");
  EXPECT_EQ(CpuTextAt("kubepods/poduid-two/two"), "1-4");
  EXPECT_EQ(CpuTextAt("kubepods/besteffort"), "0,5-7");

  Want(*manager, {back, two});
  EXPECT_FALSE(manager->ledger().pods.contains("uid-one"));
  EXPECT_EQ(CpuTextAt("kubepods/poduid-two/two"), "1-2");
  Want(*manager, {back});
  EXPECT_EQ(manager->ledger().pools, CpuPools());
  EXPECT_EQ(CpuTextAt("kubepods/besteffort"), "0-7");
}

TEST_F(PoolPodTest, ItKeepsItsQuotaAsNobodyHasTheCpusForItself) {
  auto manager = Boot();
  Want(*manager, {InPool("one", "2", "batch", QosClass::kGuaranteed)});
  const auto values = world.tree.Read("kubepods/poduid-one/one");
  ASSERT_TRUE(values && values->cpu_max);
  EXPECT_TRUE(values->cpu_max->quota.has_value());
}

TEST_F(PoolPodTest, ABerthdThatStartsAgainGoesOnWithThePools) {
  const Pod one = InPool("one", "1500m", "batch");
  const Pod two = InPool("two", "1", "web");
  auto manager = Boot();
  Want(*manager, {one, two});
  const Ledger before = manager->ledger();
  ASSERT_EQ(before.pools.size(), 2U);
  manager = Boot();
  Want(*manager, {one, two});
  EXPECT_EQ(manager->ledger().pools, before.pools);
  EXPECT_EQ(manager->ledger().pods, before.pods);

  world.node = NodeWithPools({"web"});
  manager = Boot();
  Want(*manager, {one, two});
  EXPECT_EQ(manager->ledger().pools, before.pools) << "its containers stay";
  EXPECT_EQ(CpuTextAt("kubepods/burstable/poduid-one/one"), FormatIds(before.pools.at("batch").cpus));
  EXPECT_TRUE(std::ranges::any_of(world.events.events(), [](const Event& event) {
    return event.message.contains("CPU pool batch is not in cpuPools any more");
  }));
  Want(*manager, {two});
  EXPECT_FALSE(manager->ledger().pools.contains("batch"));
}

TEST_F(PoolPodTest, AResizeGrowsItsPoolWhileItRuns) {
  world.resizing = true;
  auto manager = Boot();
  Pod one = InPool("one", "1", "batch");
  const Pod two = InPool("two", "500m", "batch");
  Want(*manager, {one, two});
  ASSERT_EQ(CpuTextAt("kubepods/burstable/poduid-two/two"), "1-2");
  const int pids = world.runtime.next_pid;
  one.containers[0].resources.requests["cpu"] = *Quantity::Parse("3");
  Want(*manager, {one, two});
  EXPECT_EQ(CpuTextAt("kubepods/burstable/poduid-one/one"), "1-4");
  EXPECT_EQ(CpuTextAt("kubepods/burstable/poduid-two/two"), "1-4");
  EXPECT_EQ(world.runtime.next_pid, pids) << "both go on running";
}

TEST_F(PoolPodTest, WhoMayNotIsRefusedWithTheReason) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({InPool("one", "1", "bath")}), Now());
  EXPECT_FALSE(world.runtime.Runs("uid-one", "one"));
  EXPECT_TRUE(std::ranges::any_of(world.events.events(), [](const Event& event) {
    return event.reason == "CPUPoolError" && event.message.contains("this node has batch, web");
  }));
}

/// Promises are checked after every step (FakeNode).
TEST_F(PoolPodTest, KilledAtAnyStepTheNextBerthdBringsItToTheSame) {
  int most = 0;
  for (int n = 0; n < 400; ++n) {
    FakeNode other(NodeWithPools());
    const std::vector<Pod> first = {InPool("one", "1500m", "batch"), MakePod("back", "", QosClass::kBestEffort)};
    std::vector<Pod> then = first;
    then.push_back(InPool("two", "2", "batch", QosClass::kGuaranteed));
    then.push_back(MakePod("own", "2"));
    auto manager = other.Boot();
    ASSERT_TRUE(manager->Start(other.store.saved, other.clock.Now()));
    manager->OnSnapshot(Wanting(first), other.clock.Now());
    bool died = false;
    other.steps.DieAt(n);
    try {
      manager->OnSnapshot(Wanting(then), other.clock.Now());
    } catch (const Died&) {
      died = true;
    }
    manager.reset();
    auto next = other.Boot();
    ASSERT_TRUE(next->Start(other.store.saved, other.clock.Now())) << n;
    next->OnSnapshot(Wanting(then), other.clock.Now());
    ASSERT_TRUE(other.runtime.Runs("uid-two", "two") && other.runtime.Runs("uid-own", "own")) << n;
    const auto values = other.tree.Read("kubepods/burstable/poduid-one/one");
    ASSERT_TRUE(values);
    EXPECT_EQ(*values->cpus, next->ledger().pools.at("batch").cpus) << n;
    EXPECT_EQ(values->cpus->Count(), 4) << n;
    most = n;
    if (!died) break;
  }
  EXPECT_GT(most, 10);
  EXPECT_LT(most, 399);
}

}  // namespace
}  // namespace berth::daemon
