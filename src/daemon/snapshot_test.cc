// What the loop publishes: the builder on a node of fakes, and readers beside a loop.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/loop_thread.h"
#include "daemon/fake_node_test.h"
#include "daemon/published.h"
#include "daemon/snapshot_builder.h"

namespace berth::daemon {
namespace {

struct SnapshotTest : PodManagerTest {
  /// A berthd with these pods running.
  void Run(const std::vector<Pod>& pods) BERTH_ASSERTS(loop_thread) {
    manager = Boot();
    builder = std::make_unique<SnapshotBuilder>(
        manager->bare(), world.events,
        DaemonFacts{.version = "1", .runtime = "process", .warnings = {"found at the start"}});
    manager->OnSnapshot(Wanting(pods), Now());
  }
  NodeSnapshot Build() {
    loop_thread.Assert();
    auto state = builder->Build();
    EXPECT_TRUE(state) << "nothing new";
    return state ? state->node : NodeSnapshot();
  }
  std::unique_ptr<TestManager> manager;
  std::unique_ptr<SnapshotBuilder> builder;
};

TEST_F(SnapshotTest, SaysWhatPodsHoldAndHowTheyRun) {
  Run({MakePod("web", "2"), MakePod("any", "", QosClass::kBestEffort)});
  const NodeSnapshot now = Build();
  ASSERT_EQ(now.pods.size(), 2U);
  const PodView& any = *now.pods[0].view;
  const PodView& web = *now.pods[1].view;
  EXPECT_EQ(web.name, "web");
  EXPECT_EQ(web.phase, PodPhase::kRunning);
  EXPECT_EQ(web.qos, QosClass::kGuaranteed);
  EXPECT_EQ(web.file, "/pods/web.yaml");
  EXPECT_TRUE(web.admitted_at);
  ASSERT_EQ(web.containers.size(), 1U);
  EXPECT_EQ(web.containers[0].phase, ContainerPhase::kRunning);
  ASSERT_TRUE(web.containers[0].place && web.containers[0].last);
  EXPECT_EQ(web.containers[0].place->cpus->Count(), 2U);
  EXPECT_GT(web.containers[0].last->pid, 0);
  ASSERT_TRUE(any.containers[0].place);
  EXPECT_FALSE(any.containers[0].place->cpus);
  EXPECT_EQ(CpusOf(any.containers[0], now.shared), now.shared);
  EXPECT_EQ(now.shared, manager->ledger().shared);
  EXPECT_EQ(*now.ledger, manager->ledger());
  EXPECT_EQ(now.machine.get(), &manager->node().machine()) << "the machine is nobody's copy";
  EXPECT_EQ(now.files->at("default/web"), "/pods/web.yaml");
  EXPECT_EQ(now.status->pods, 2U);
  EXPECT_EQ(now.status->cgroup_version, "v2");
  EXPECT_EQ(now.status->cgroup_driver, "cgroupfs");
  EXPECT_EQ(now.status->pid, ::getpid());
  EXPECT_EQ(now.status->warnings, std::vector<std::string>{"found at the start"});
  EXPECT_FALSE(now.pods[1].trace->steps().empty());
}

TEST_F(SnapshotTest, LimitsArePartOfAPodWhereTheyHoldForAllOfIt) {
  Pod partly = MakePod("partly", "500m", QosClass::kBurstable);
  partly.containers[0].resources.limits = {{"cpu", *Quantity::Parse("2")}, {"memory", *Quantity::Parse("8Mi")}};
  Container side = partly.containers[0];
  side.name = "side";
  side.resources.limits.erase("memory");
  partly.containers.push_back(side);
  Run({partly, MakePod("web", "2")});
  const NodeSnapshot now = Build();
  EXPECT_EQ(FindPod(now, "default", "partly")->view->limits, (ResourceList{{"cpu", *Quantity::Parse("4")}}));
  const PodView& web = *FindPod(now, "default", "web")->view;
  EXPECT_EQ(web.limits, web.requests);
  EXPECT_TRUE(web.limits.contains("memory"));
}

TEST_F(SnapshotTest, NamesTheNodesMemoryIsPinnedTo) {
  KubeletConfiguration config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0";
  config.memory_manager_policy = "Static";
  config.reserved_memory = {{NumaId{0}, {{"memory", *Quantity::Parse("100Mi")}}}};
  auto node = allocator::Node::Make(*machine::ParseSynthetic("numa:2(memory=4GB) core:2 pu:1"), config);
  ASSERT_TRUE(node) << node.error().message;
  FakeNode fresh(*node);
  auto pinning = fresh.Boot();
  ASSERT_TRUE(pinning->Start(std::nullopt, fresh.clock.Now()));
  SnapshotBuilder fresh_builder(pinning->bare(), fresh.events, DaemonFacts());
  pinning->OnSnapshot(Wanting({MakePod("any", "", QosClass::kBestEffort), MakePod("web", "1")}), fresh.clock.Now());
  const NodeSnapshot now = fresh_builder.Build()->node;
  EXPECT_TRUE(FindPod(now, "default", "any")->view->containers[0].place->memory_nodes.empty());
  EXPECT_EQ(FormatIds(FindPod(now, "default", "web")->view->containers[0].place->memory_nodes), "0");
}

TEST_F(SnapshotTest, IsMadeOnceForEveryChange) {
  Run({MakePod("web", "2")});
  EXPECT_TRUE(builder->Build());
  EXPECT_FALSE(builder->Build());
  world.events.Normal("Tested", "node/n1", "something happened");
  const auto state = builder->Build();
  ASSERT_TRUE(state);
  EXPECT_EQ(state->node.events->back()->reason, "Tested");
  EXPECT_FALSE(builder->Build());
}

TEST_F(SnapshotTest, AManifestIsHeldOnce) {
  pod_sources::Snapshot wanted = Wanting({MakePod("web", "1")});
  const std::shared_ptr<const Pod> manifest = wanted.pods[0];
  Run({});
  manager->OnSnapshot(std::move(wanted), Now());
  EXPECT_EQ(Build().pods[0].manifest, manifest);
}

TEST_F(SnapshotTest, HasTheStorageOfThePodFolderAndHowMuchItHolds) {
  Run({});
  const auto before = builder->Build();
  ASSERT_TRUE(before);
  EXPECT_EQ("", *before->storage);
  pod_sources::Snapshot wanted = Wanting({});
  wanted.storage = "{}";
  wanted.held_bytes = 7;
  manager->OnSnapshot(std::move(wanted), Now());
  const auto after = builder->Build();
  ASSERT_TRUE(after);
  EXPECT_EQ("{}", *after->storage);
  EXPECT_EQ(7U, after->held_bytes);
}

TEST_F(SnapshotTest, WhatDidNotChangeIsShared) {
  Run({MakePod("a", "1"), MakePod("b", "", QosClass::kBestEffort), MakePod("c", "", QosClass::kBestEffort)});
  const NodeSnapshot before = Build();
  world.runtime.Exit(before.pods[1].view->containers[0].id, 1);
  manager->OnRuntime(Now());
  const NodeSnapshot after = Build();
  ASSERT_EQ(after.pods.size(), 3U);
  EXPECT_NE(after.pods[1].view, before.pods[1].view);
  EXPECT_EQ(after.pods[1].manifest, before.pods[1].manifest);
  for (const std::size_t other : {0U, 2U}) {
    EXPECT_EQ(after.pods[other].view, before.pods[other].view);
    EXPECT_EQ(after.pods[other].manifest, before.pods[other].manifest);
    EXPECT_EQ(after.pods[other].trace, before.pods[other].trace);
  }
  EXPECT_EQ(after.ledger, before.ledger);
  EXPECT_EQ(after.files, before.files);
  EXPECT_EQ(after.node, before.node);
  EXPECT_EQ(before.pods[1].view->containers[0].phase, ContainerPhase::kRunning) << "whoever has the old one keeps it";
}

TEST_F(SnapshotTest, OneChangeAmongManyPodsCostsOnePodsWork) {
  std::vector<Pod> pods;
  for (int i = 0; i < 100; ++i) pods.push_back(MakePod("p" + std::to_string(i), "", QosClass::kBestEffort));
  Run(pods);
  const NodeSnapshot before = Build();
  const std::uint64_t seen = builder->seen();
  EXPECT_GE(seen, 100U);
  world.runtime.Exit(before.pods[50].view->containers[0].id, 1);
  manager->OnRuntime(Now());
  const NodeSnapshot after = Build();
  EXPECT_EQ(builder->seen(), seen + 1);
  EXPECT_NE(after.pods[50].view, before.pods[50].view);
  EXPECT_TRUE(std::ranges::is_sorted(after.pods, {}, [](const PodSnapshot& pod) { return pod.view->name; }));
  pods.erase(pods.begin() + 3);
  pods.push_back(MakePod("a", "", QosClass::kBestEffort));
  manager->OnSnapshot(Wanting(pods), Now());
  const NodeSnapshot last = Build();
  EXPECT_EQ(last.pods.front().view->name, "a");
  EXPECT_TRUE(std::ranges::is_sorted(last.pods, {}, [](const PodSnapshot& pod) { return pod.view->name; }));
}

TEST_F(SnapshotTest, OthersKeepTheirViewsWhenThePoolShrinks) {
  Run({MakePod("any", "", QosClass::kBestEffort)});
  const NodeSnapshot before = Build();
  manager->OnSnapshot(Wanting({MakePod("any", "", QosClass::kBestEffort), MakePod("web", "2")}), Now());
  const NodeSnapshot after = Build();
  EXPECT_EQ(FindPod(after, "default", "any")->view, FindPod(before, "default", "any")->view);
  EXPECT_EQ(before.shared - after.shared, *FindPod(after, "default", "web")->view->containers[0].place->cpus);
}

TEST_F(SnapshotTest, TellsWhatKeepsPodsWaiting) {
  Run({});
  EXPECT_EQ(Build().node->conditions, NodeConditions());
  world.store.full = true;
  manager->OnSnapshot(Wanting({MakePod("web", "2")}), Now());
  const NodeSnapshot full = Build();
  EXPECT_NE(full.node->conditions.ledger_problem.find("No space left"), std::string::npos);
  EXPECT_EQ(full.pods[0].view->phase, PodPhase::kPending);
  EXPECT_EQ(full.pods[0].view->reason, "LedgerNotSaved");
  EXPECT_EQ(full.status->warnings.size(), 2U);
}

TEST_F(SnapshotTest, ProblemsOfManifestsAreCountedBeyondTheFirstHundred) {
  Run({});
  pod_sources::Snapshot snapshot = Wanting({});
  for (int i = 0; i < 4000; ++i)
    snapshot.problems.push_back({"/pods/" + std::to_string(i) + ".yaml", std::string(i == 0 ? 10'000 : 10, 'x')});
  manager->OnSnapshot(std::move(snapshot), Now());
  const NodeSnapshot now = Build();
  const std::vector<std::string>& warnings = now.status->warnings;
  ASSERT_EQ(warnings.size(), 102U) << "with what was found at the start";
  EXPECT_EQ(warnings.back(), "and 3900 more problems of manifests: mend these first, or see berth events");
  for (const std::string& warning : warnings) EXPECT_LT(warning.size(), 2'100U);
}

TEST_F(SnapshotTest, NamesPodsThatEndAndStillHoldTheirPlace) {
  world.runtime.deaf = true;
  Run({MakePod("web", "2")});
  EXPECT_TRUE(Build().node->conditions.releasing.empty());
  manager->OnSnapshot(Wanting({}), Now());
  const NodeSnapshot ending = Build();
  EXPECT_EQ(ending.node->conditions.releasing, std::vector<std::string>{"default/web"});
  EXPECT_EQ(ending.pods[0].view->reason, "Terminating");
}

/// What one change costs the loop. A bound far above what it takes, for slow builds.
TEST(SnapshotCostTest, OneChangeAmongManyPodsIsCheap) {
  FakeNode world(MakeNode(4));
  auto manager = world.Boot();
  ASSERT_TRUE(manager->Start(std::nullopt, world.clock.Now()));
  std::vector<Pod> pods;
  for (int i = 0; i < 100; ++i) pods.push_back(MakePod(fmt::format("pod-{}", i), "", QosClass::kBestEffort));
  manager->OnSnapshot(Wanting(pods), world.clock.Now());
  SnapshotBuilder builder(manager->bare(), world.events, {});
  const auto before = builder.Build();
  ASSERT_EQ(before->node.pods.size(), pods.size());
  world.runtime.Exit(before->node.pods[7].view->containers[0].id, 1);
  manager->OnRuntime(world.clock.Now());
  const auto after = builder.Build();
  ASSERT_TRUE(after);
  std::size_t fresh = 0;
  for (std::size_t i = 0; i < pods.size(); ++i)
    fresh += after->node.pods[i].view != before->node.pods[i].view ? 1U : 0U;
  EXPECT_EQ(fresh, 1U);
}

TEST(PublishedTest, ReadersReadWhileTheLoopPublishes) {
  struct Pair {
    int a = 0;
    int b = 0;
  };
  Published<Pair> published(std::make_shared<const Pair>());
  std::atomic<bool> done = false;
  std::atomic<int> torn = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i)
    readers.emplace_back([&] {
      for (int last = 0; !done;) {
        const auto now = published.Get();
        if (now->a != now->b || now->a < last) ++torn;
        last = now->a;
      }
    });
  for (int i = 1; i <= 20'000; ++i) published.Put(std::make_shared<const Pair>(Pair{i, i}));
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(published.Get()->a, 20'000);
}

/// The same with the real thing: views, ledger and events are read on other threads while pods come and go.
TEST_F(SnapshotTest, ReadersReadSnapshotsWhilePodsComeAndGo) {
  Run({MakePod("a", "1")});
  Published<LoopState> published(builder->Build());
  std::atomic<bool> done = false;
  std::atomic<std::size_t> odd = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i)
    readers.emplace_back([&] {
      while (!done) {
        const auto state = published.Get();
        if (state->node.status->pods != state->node.pods.size()) ++odd;
        for (const PodSnapshot& pod : state->node.pods)
          if (pod.view->uid != pod.manifest->uid) ++odd;
        for (const auto& event : *state->node.events) odd += event->message.empty() ? 1U : 0U;
      }
    });
  for (int i = 0; i < 50; ++i) {
    world.clock.Advance(os::Millis(1000));
    manager->OnSnapshot(Wanting(i % 2 == 0 ? std::vector<Pod>{} : std::vector<Pod>{MakePod("a", "1")}), Now());
    if (auto state = builder->Build()) published.Put(std::move(state));
  }
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(odd, 0U);
}

}  // namespace
}  // namespace berth::daemon
