// Containers with CPUs of their own and the shared pool beside, from the manifest to the groups.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "daemon/fake_node_test.h"

namespace berth::daemon {
namespace {

constexpr const char* kMixesUid = "0123456789abcdef0123456789abcdef";  // as one that is made of a manifest
constexpr const char* kMixesGroup = "kubepods/burstable/pod0123456789abcdef0123456789abcdef/mix";

allocator::Node NodeThatLetsAll() {
  auto machine = machine::ParseSynthetic("numa:1 core:8 pu:1");
  EXPECT_TRUE(machine);
  KubeletConfiguration config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0";
  PodPolicy all;
  all.name = "all";
  all.namespaces = all.cpus = {"*"};
  allocator::EngineOptions options;
  options.own.pods = {all};
  auto node = allocator::Node::Make(*machine, config, options);
  EXPECT_TRUE(node) << node.error().message;
  return *node;
}

struct MixedPodTest : PodManagerTest {
  MixedPodTest() : PodManagerTest(NodeThatLetsAll()) { world.options.pods.pool = world.logs / "cpus"; }
  static Pod Mix(const std::string& name, const std::string& wish) {
    Pod out = MakePod(name, "2500m", QosClass::kBurstable);
    out.annotations["berth.dev/cpus"] = wish;
    return out;
  }
  std::string File() const { return testkit::ReadText(world.options.pods.pool + "/shared"); }
  std::string Told(const std::string& name) const {
    for (const auto& [variable, value] : world.runtime.last_request->env)
      if (variable == name) return value;
    return "";
  }
};

TEST_F(MixedPodTest, ItsGroupFollowsThePoolAndSoDoesTheFile) {
  auto manager = Boot();
  const Pod mix = Mix("mix", "2 exclusive + shared");
  manager->OnSnapshot(Wanting({mix}), Now());
  ASSERT_TRUE(world.runtime.Runs("uid-mix", "mix"));
  EXPECT_EQ(Told("BERTH_CPUS_EXCLUSIVE"), "1-2");
  EXPECT_EQ(Told("BERTH_CPUS_SHARED"), "0,3-7");
  EXPECT_EQ(Told("BERTH_CPUS_SHARED_FILE"), world.options.pods.pool + "/shared");
  EXPECT_EQ(CpuTextAt("kubepods/burstable/poduid-mix/mix"), "0-7");
  EXPECT_EQ(File(), "0,3-7\n");
  EXPECT_EQ(CpuTextAt("kubepods/burstable"), "0-7") << "the class holds what its containers do";
  EXPECT_EQ(CpuTextAt("kubepods/besteffort"), "0,3-7");

  manager->OnSnapshot(Wanting({mix, MakePod("web", "3")}), Now());
  ASSERT_TRUE(world.runtime.Runs("uid-web", "web"));
  EXPECT_EQ(CpuTextAt("kubepods/burstable/poduid-mix/mix"), "0-2,6-7");
  EXPECT_EQ(CpuTextAt("kubepods/burstable"), "0-2,6-7");
  EXPECT_EQ(CpuTextAt("berth"), "0,6-7");
  EXPECT_EQ(File(), "0,6-7\n");
}

TEST_F(MixedPodTest, TheFileIsWrittenOnceForAChangeAndNeverWithoutOne) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({MakePod("web", "2")}), Now());
  EXPECT_FALSE(std::filesystem::exists(world.options.pods.pool)) << "nobody is told";
  const Pod one = Mix("one", "1 exclusive + shared");
  const Pod two = Mix("two", "1 exclusive + shared");
  manager->OnSnapshot(Wanting({MakePod("web", "2"), one, two}), Now());
  ASSERT_TRUE(world.runtime.Runs("uid-two", "two"));
  EXPECT_EQ(File(), "0,5-7\n");
  std::ofstream(world.options.pods.pool + "/shared") << "as it was";
  manager->OnSnapshot(Wanting({MakePod("web", "2"), one, two, MakePod("back", "", QosClass::kBestEffort)}), Now());
  world.clock.Advance(os::Millis(10'000));
  manager->Sync(Now());
  EXPECT_EQ(File(), "as it was") << "the pool is the same";
}

TEST_F(MixedPodTest, ExclusiveCpusOfABurstablePodAreItsOwnAndComeBack) {
  auto manager = Boot();
  const Pod own = Mix("own", "2 exclusive");
  const Pod back = MakePod("back", "100m", QosClass::kBurstable);
  manager->OnSnapshot(Wanting({back, own}), Now());
  ASSERT_TRUE(world.runtime.Runs("uid-own", "own"));
  EXPECT_EQ(CpuTextAt("kubepods/burstable/poduid-own/own"), "1-2");
  EXPECT_EQ(CpuTextAt("kubepods/burstable/poduid-back/back"), "0,3-7");
  manager->OnSnapshot(Wanting({back}), Now());
  manager->OnRuntime(Now());
  world.clock.Advance(os::Millis(1'000));
  manager->Sync(Now());
  EXPECT_FALSE(manager->ledger().pods.contains("uid-own"));
  EXPECT_EQ(CpuTextAt("kubepods/burstable"), "0-7");
  EXPECT_EQ(CpuTextAt("kubepods/burstable/poduid-back/back"), "0-7");
}

TEST_F(MixedPodTest, ANumberThatChangesInItsAnnotationIsAResize) {
  world.resizing = true;
  auto manager = Boot();
  const auto want = [&](const Pod& pod) {
    manager->OnSnapshot(Wanting({pod, MakePod("back", "", QosClass::kBestEffort)}), Now());
  };
  const auto mix = [](const std::string& wish) {
    Pod out = Mix("mix", wish);
    out.uid = kMixesUid;
    return out;
  };
  want(mix("2 exclusive + shared"));
  ASSERT_TRUE(world.runtime.Runs(kMixesUid, "mix"));
  const int pids = world.runtime.next_pid;
  Pod more = mix("4 exclusive+shared");
  more.containers[0].resources.requests["cpu"] = *Quantity::Parse("4500m");
  want(more);
  EXPECT_EQ(CpuTextAt(kMixesGroup), "0-7");
  EXPECT_EQ(CpuTextAt("kubepods/besteffort"), "0,5-7");
  EXPECT_EQ(File(), "0,5-7\n");
  EXPECT_EQ(world.runtime.next_pid, pids) << "it goes on running";
  const Placement* place = FindPlacement(manager->ledger().pods.at(kMixesUid), "mix");
  EXPECT_EQ(FormatIds(*place->cpus), "1-4");
  EXPECT_TRUE(place->mixed);

  manager = Boot();  // edited while no berthd ran
  want(mix("1 exclusive + shared"));
  EXPECT_EQ(FormatIds(*FindPlacement(manager->ledger().pods.at(kMixesUid), "mix")->cpus), "1");
  EXPECT_EQ(File(), "0,2-7\n");
  EXPECT_EQ(CpuTextAt(kMixesGroup), "0-7");
  EXPECT_EQ(world.runtime.next_pid, pids);

  want(mix("1 exclusive"));  // of another kind it is another pod
  manager->OnRuntime(Now());
  world.clock.Advance(os::Millis(1'000));
  manager->Sync(Now());
  EXPECT_NE(world.runtime.next_pid, pids);
  EXPECT_EQ(CpuTextAt(kMixesGroup), "1");
}

/// On cgroup v2 who inherits its class's CPUs would have them with the class, before they are given up.
TEST_F(MixedPodTest, WhatAnotherGivesUpIsThePoolsWhenItHasBeenGivenUp) {
  world.resizing = true;
  auto manager = Boot();
  const Pod mix = Mix("mix", "1 exclusive + shared");
  Pod web = MakePod("web", "4");
  manager->OnSnapshot(Wanting({web, mix}), Now());
  ASSERT_TRUE(world.runtime.Runs("uid-mix", "mix"));
  ASSERT_EQ(CpuTextAt("kubepods/poduid-web/web"), "2-5");
  Resources& resources = web.containers[0].resources;
  resources.requests["cpu"] = resources.limits["cpu"] = *Quantity::Parse("2");
  world.steps.ClearLog();
  manager->OnSnapshot(Wanting({web, mix}), Now());
  const int given_up = world.steps.Find("cpus kubepods/poduid-web/web 2-3");
  ASSERT_GE(given_up, 0);
  EXPECT_LT(given_up, world.steps.Find("cpus kubepods/burstable/poduid-mix/mix 0-1,4-7", given_up));
  EXPECT_EQ(CpuTextAt("kubepods/burstable/poduid-mix/mix"), "0-1,4-7");
}

/// Promises are checked after every step (FakeNode).
TEST_F(MixedPodTest, KilledAtAnyStepTheNextBerthdBringsItToTheSame) {
  int most = 0;
  for (int n = 0; n < 400; ++n) {
    FakeNode other(NodeThatLetsAll());
    other.options.pods.pool = other.logs / "cpus";
    const std::vector<Pod> pods = {Mix("mix", "2 exclusive + shared"), MakePod("web", "3"),
                                   MakePod("back", "", QosClass::kBestEffort)};
    bool died = false;
    auto manager = other.Boot();
    ASSERT_TRUE(manager->Start(other.store.saved, other.clock.Now()));
    other.steps.DieAt(n);
    try {
      manager->OnSnapshot(Wanting(pods), other.clock.Now());
    } catch (const Died&) {
      died = true;
    }
    manager.reset();
    auto next = other.Boot();
    ASSERT_TRUE(next->Start(other.store.saved, other.clock.Now())) << n;
    next->OnSnapshot(Wanting(pods), other.clock.Now());
    ASSERT_TRUE(other.runtime.Runs("uid-mix", "mix") && other.runtime.Runs("uid-web", "web")) << n;
    const auto mixed = other.tree.Read("kubepods/burstable/poduid-mix/mix");
    ASSERT_TRUE(mixed);
    EXPECT_EQ(*mixed->cpus, *FindPlacement(next->ledger().pods.at("uid-mix"), "mix")->cpus | next->ledger().shared)
        << n;
    EXPECT_EQ(testkit::ReadText(other.options.pods.pool + "/shared"), FormatIds(next->ledger().shared) + "\n") << n;
    most = n;
    if (!died) break;
  }
  EXPECT_GT(most, 10);
  EXPECT_LT(most, 399);
}

}  // namespace
}  // namespace berth::daemon
