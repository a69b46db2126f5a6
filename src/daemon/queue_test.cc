// Pods that wait for room, critical pods, and moves of running ones. Of four CPUs one is reserved.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "daemon/fake_node_test.h"

namespace berth::daemon {
namespace {

struct QueueTest : PodManagerTest {
  QueueTest() { world.pod_options.queue.most_waiting = 10; }

  static int PlaceOf(const TestManager& manager, const std::string& uid) {
    const auto pod = manager.pods().find(uid);
    const auto* const rejected =
        pod == manager.pods().end() ? nullptr : std::get_if<pods::Rejected>(&pod->second.stage);
    return rejected == nullptr ? 0 : rejected->place;
  }
  static std::string ReasonOf(const TestManager& manager, const std::string& uid) {
    return manager.pods().find(uid)->second.why().reason;
  }
  /// What manifests want from now on, and all that comes of it within some seconds.
  void Want(TestManager& manager, const std::vector<Pod>& pods) {
    manager.OnSnapshot(Wanting(pods), Now());
    for (int i = 0; i < 4; ++i) {
      manager.OnRuntime(Now());
      Advance(manager, os::Millis(1'100));
    }
  }
  bool Runs(const std::string& name) { return world.runtime.Runs("uid-" + name, name); }
};

Pod Important(Pod pod, std::int32_t priority) {
  pod.priority = priority;
  return pod;
}

TEST_F(QueueTest, PodsWaitByPriorityThenAgeAndWhatNeverFitsIsRejectedAtOnce) {
  world.pod_options.queue.overtakes = 100;
  auto manager = Boot();
  const Pod a = MakePod("a", "3");
  const Pod b = MakePod("b", "2");
  const Pod c = Important(MakePod("c", "2"), 7);
  const Pod d = MakePod("d", "3");
  Want(*manager, {a, b, c, d, MakePod("huge", "4")});
  EXPECT_EQ(PlaceOf(*manager, "uid-c"), 1);
  EXPECT_EQ(PlaceOf(*manager, "uid-b"), 2);
  EXPECT_EQ(PlaceOf(*manager, "uid-d"), 3);
  EXPECT_EQ(PlaceOf(*manager, "uid-huge"), 0);
  EXPECT_EQ(ReasonOf(*manager, "uid-c"), "WaitingForRoom");
  EXPECT_NE(ReasonOf(*manager, "uid-huge"), "WaitingForRoom");
  EXPECT_TRUE(HasEvent("WaitingForRoom"));

  Want(*manager, {b, c, d, MakePod("huge", "4")});
  EXPECT_TRUE(Runs("c"));
  EXPECT_EQ(PlaceOf(*manager, "uid-b"), 1);
  EXPECT_EQ(PlaceOf(*manager, "uid-d"), 2);
}

TEST_F(QueueTest, WhoWaitsIsDecidedAgainAfterAnAdmissionWhichMayHaveMadeItsHintsBetter) {
  world.pod_options.queue.overtakes = 100;
  auto manager = Boot();
  const Pod a = MakePod("a", "2");
  const Pod b = MakePod("b", "2");
  Want(*manager, {a, b});
  ASSERT_EQ(PlaceOf(*manager, "uid-b"), 1);
  const auto decisions = [&] { return manager->pods().find("uid-b")->second.decisions; };
  const auto before = decisions();
  Want(*manager, {a, b});
  EXPECT_EQ(decisions(), before) << "nothing has changed";
  Want(*manager, {a, b, MakePod("c", "1")});
  EXPECT_TRUE(Runs("c"));
  EXPECT_EQ(decisions(), before + 1);
}

TEST_F(QueueTest, WithoutTheSettingNobodyWaits) {
  world.pod_options.queue.most_waiting = 0;
  auto manager = Boot();
  Want(*manager, {MakePod("a", "3"), MakePod("b", "2")});
  EXPECT_EQ(PlaceOf(*manager, "uid-b"), 0);
  EXPECT_NE(ReasonOf(*manager, "uid-b"), "WaitingForRoom");
}

TEST_F(QueueTest, WhereTheQueueIsFullPodsAreRejectedAndWaitWhenThereIsRoomInIt) {
  world.pod_options.queue.most_waiting = 1;
  auto manager = Boot();
  const Pod a = MakePod("a", "3");
  const Pod b = MakePod("b", "2");
  const Pod c = MakePod("c", "3");
  Want(*manager, {a, b, c});
  EXPECT_EQ(PlaceOf(*manager, "uid-b"), 1);
  EXPECT_EQ(PlaceOf(*manager, "uid-c"), 0);
  EXPECT_TRUE(manager->pods().find("uid-c")->second.Is<pods::Rejected>());
  Want(*manager, {b, c});
  EXPECT_TRUE(Runs("b"));
  EXPECT_EQ(PlaceOf(*manager, "uid-c"), 1);
}

/// Small pods come and go all the time, two of three at any moment.
TEST_F(QueueTest, ALargePodIsNotStarvedBySmallOnes) {
  for (const int overtakes : {0, 3, 1'000}) {
    SCOPED_TRACE(overtakes);
    world.pod_options.queue.overtakes = overtakes;
    world.store.saved.reset();
    auto manager = Boot();
    const Pod large = MakePod("large", "3");
    std::vector<Pod> small = {MakePod("s0", "1"), MakePod("s1", "1")};
    int departures = 0;
    const auto all = [&] {
      std::vector<Pod> out = small;
      out.push_back(large);
      return out;
    };
    Want(*manager, small);
    Want(*manager, all());
    for (int i = 2; i < 30 && !Runs("large"); ++i) {
      small.push_back(MakePod("s" + std::to_string(i), "1"));  // the newcomer is there before the other one goes
      Want(*manager, all());
      small.erase(small.begin());
      ++departures;
      Want(*manager, all());
    }
    EXPECT_EQ(Runs("large"), overtakes < 1'000) << "without a claim it is passed for ever";
    EXPECT_LE(departures, overtakes < 1'000 ? overtakes + 3 : departures)
        << "the pods that ran when its claim began, and those that passed it before";
    Want(*manager, {});
    EXPECT_TRUE(manager->idle());
  }
}

TEST_F(QueueTest, EveryPodThatWaitsAndFitsIsAdmittedUnlessOneComesFirst) {
  constexpr std::uint32_t kSeed = 84757;
  SCOPED_TRACE(kSeed);
  std::mt19937 random(kSeed);
  world.pod_options.queue.overtakes = 2;
  auto manager = Boot();
  std::vector<Pod> wanted;
  int looked = 0;
  for (int i = 0; i < 120; ++i) {
    if (random() % 2 == 0 && !wanted.empty())
      wanted.erase(wanted.begin() + static_cast<std::ptrdiff_t>(random() % wanted.size()));
    else if (wanted.size() < 9)
      wanted.push_back(Important(MakePod("p" + std::to_string(i), std::to_string(1 + random() % 3)),
                                 static_cast<std::int32_t>(random() % 2)));
    Want(*manager, wanted);
    for (const auto& [uid, managed] : manager->pods()) {
      if (PlaceOf(*manager, uid) == 0) continue;
      ++looked;
      const Decision decision = allocator::Decide(manager->node(), manager->ledger(), managed.pod, {}, nullptr);
      EXPECT_TRUE(std::holds_alternative<Reject>(decision) || managed.why().message.starts_with("OthersComeFirst"))
          << uid << ": " << managed.why().message;
      EXPECT_TRUE(std::holds_alternative<Reject>(decision) || PlaceOf(*manager, uid) > 1);
    }
  }
  EXPECT_GT(looked, 50);
}

// ---- critical pods
// -----------------------------------------------------------------------------------------------------

struct CriticalTest : QueueTest {
  CriticalTest() {
    world.pod_options.queue.most_waiting = 0;
    world.pod_options.queue.preempt_for_critical = true;
  }
  Pod critical = Important(MakePod("critical", "2"), 2'000'000'000);
};

TEST_F(CriticalTest, TheLeastImportantPodsEndForACriticalOne) {
  auto manager = Boot();
  const Pod a = Important(MakePod("a", "1"), 5);
  const Pod b = Important(MakePod("b", "1"), 1);
  const Pod c = Important(MakePod("c", "1"), 3);
  Want(*manager, {a, b, c});
  Want(*manager, {a, b, c, critical});
  EXPECT_TRUE(Runs("critical"));
  EXPECT_TRUE(Runs("a"));
  EXPECT_FALSE(Runs("b"));
  EXPECT_FALSE(Runs("c"));
  for (const char* uid : {"uid-b", "uid-c"}) EXPECT_EQ(ReasonOf(*manager, uid), "Preempting");
  EXPECT_TRUE(HasEvent("Preempting"));
}

TEST_F(CriticalTest, WhatVictimsGiveBackIsKeptForIt) {
  auto manager = Boot();
  const Pod a = MakePod("a", "3");
  Want(*manager, {a});
  world.runtime.deaf = true;
  manager->OnSnapshot(Wanting({a, critical}), Now());
  EXPECT_EQ(ReasonOf(*manager, "uid-critical"), "WaitingForRelease");
  const Pod late = MakePod("late", "2");
  manager->OnSnapshot(Wanting({a, late, critical}), Now());
  Advance(*manager, std::chrono::seconds(31));  // the grace period is over: KILL
  manager->OnRuntime(Now());
  Want(*manager, {a, late, critical});
  EXPECT_TRUE(Runs("critical"));
  EXPECT_FALSE(Runs("late"));
}

TEST_F(CriticalTest, AResizeDoesNotTakeWhatVictimsGiveBackForIt) {
  world.resizing = true;
  const auto grown = [](const std::string& cpus) {
    Pod out = MakePod("grows", cpus);
    out.uid = "0123456789abcdef0123456789abcdef";  // as one that is made of a manifest
    return Important(std::move(out), 9);
  };
  auto manager = Boot();
  const Pod a = MakePod("a", "2");
  Want(*manager, {a, grown("1")});
  world.runtime.deaf = true;
  manager->OnSnapshot(Wanting({a, grown("1"), critical}), Now());
  EXPECT_EQ(ReasonOf(*manager, "uid-critical"), "WaitingForRelease");
  Advance(*manager, std::chrono::seconds(31));  // the grace period is over: KILL
  world.runtime.deaf = false;
  Want(*manager, {a, grown("2"), critical});
  EXPECT_TRUE(Runs("critical"));
  const auto& pod = manager->pods().at("0123456789abcdef0123456789abcdef");
  ASSERT_TRUE(pod.resize);
  EXPECT_EQ(pod.resize->why.reason, "Deferred");
  Want(*manager, {grown("2")});
  EXPECT_FALSE(manager->pods().at("0123456789abcdef0123456789abcdef").resize) << "there is room again";
}

TEST_F(QueueTest, AResizeDoesNotTakeTheRoomThatTheFirstOneFitsInto) {
  world.resizing = true;
  world.pod_options.queue.overtakes = 100;
  const auto grown = [](const std::string& cpus) {
    Pod out = MakePod("grows", cpus);
    out.uid = "0123456789abcdef0123456789abcdef";  // as one that is made of a manifest
    return out;
  };
  auto manager = Boot();
  const Pod a = MakePod("a", "2");
  const Pod large = MakePod("large", "2");
  Want(*manager, {a, grown("1")});
  ASSERT_EQ(manager->ledger().pods.size(), 2U);
  Want(*manager, {a, grown("2"), large});
  ASSERT_EQ(PlaceOf(*manager, "uid-large"), 1);
  Want(*manager, {grown("2"), large});  // two CPUs are free, and each of the two could have one of them
  EXPECT_TRUE(Runs("large"));
  const auto& pod = manager->pods().at("0123456789abcdef0123456789abcdef");
  ASSERT_TRUE(pod.resize);
  EXPECT_EQ(pod.resize->why.reason, "Deferred");
}

TEST_F(CriticalTest, NobodyEndsWhereItWouldNotHelpOrForOthers) {
  auto manager = Boot();
  const Pod a = Important(MakePod("a", "3"), 2'000'000'001);
  Want(*manager, {a, critical});
  EXPECT_TRUE(Runs("a"));
  EXPECT_FALSE(Runs("critical"));
  const Pod b = MakePod("b", "3");
  Want(*manager, {b});
  Want(*manager, {b, Important(MakePod("c", "2"), 1'999'999'999)});
  EXPECT_TRUE(Runs("b"));
}

// ---- moves
// -------------------------------------------------------------------------------------------------------------

TEST(MoveTest, ARunningContainerGoesElsewhereWithoutSharingACpuOnItsWay) {
  FakeNode world(MakeNode(8, 2));
  const auto nobody_shares = [&] {
    std::vector<CpuSet> own;
    for (const auto& [id, status] : world.runtime.containers)
      if (status.state == runtime::ContainerState::kRunning)
        own.push_back(*world.tree.Read(world.tree.PathOf(status))->cpus);
    for (std::size_t i = 0; i < own.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(own[i].Intersects(own[j])) << world.steps.log().back();
  };
  auto manager = world.Boot();
  ASSERT_TRUE(manager->Start(world.store.saved, world.clock.Now()));
  const std::vector<Pod> pods = {MakePod("a", "2"), MakePod("b", "2"), MakePod("c", "3")};
  manager->OnSnapshot(Wanting(pods), world.clock.Now());
  manager->OnSnapshot(Wanting({pods[1], pods[2]}), world.clock.Now());
  manager->OnRuntime(world.clock.Now());
  const int pids = world.runtime.next_pid;
  const CpuSet before = *manager->ledger().pods.find("uid-b")->second.placements[0].cpus;
  world.steps.set_check(nobody_shares);
  const NodeSet target = before.Intersects(*CpuSet::Parse("4-7")) ? NodeSet{NumaId{0}} : NodeSet{NumaId{1}};
  world.steps.ClearLog();
  const auto moved = manager->core().MakeMove({.uid = "uid-b", .container = "b", .nodes = target});
  ASSERT_TRUE(moved) << moved.error().message;
  manager->Sync(world.clock.Now());
  const CpuSet after = *manager->ledger().pods.find("uid-b")->second.placements[0].cpus;
  EXPECT_EQ(after, moved->containers[0].to.cpus);
  EXPECT_FALSE(after.Intersects(before));
  EXPECT_EQ(world.tree.Read("kubepods/poduid-b/b")->cpus, after);
  EXPECT_EQ(world.steps.Find("save"), 0) << "it is on disk before anything is written";
  EXPECT_EQ(world.runtime.next_pid, pids) << "nothing was started again";
  EXPECT_TRUE(std::ranges::any_of(world.events.events(), [](const Event& e) { return e.reason == "Moved"; }));

  EXPECT_EQ(manager->core().MakeMove({.uid = "uid-x", .container = "b", .nodes = target}).error().code,
            Code::kNotFound);
  EXPECT_EQ(manager->core().MakeMove({.uid = "uid-b", .container = "b", .nodes = target}).error().code,
            Code::kExhausted);
}

TEST(MoveTest, AMoveThatCannotBeSavedLeavesEverythingAsItWas) {
  FakeNode world(MakeNode(8, 2));
  auto manager = world.Boot();
  ASSERT_TRUE(manager->Start(world.store.saved, world.clock.Now()));
  manager->OnSnapshot(Wanting({MakePod("a", "2")}), world.clock.Now());
  const Ledger before = manager->ledger();
  const CpuSet cpus = *before.pods.find("uid-a")->second.placements[0].cpus;
  const NodeSet target = cpus.Intersects(*CpuSet::Parse("4-7")) ? NodeSet{NumaId{0}} : NodeSet{NumaId{1}};
  world.store.full = true;
  ASSERT_TRUE(manager->core().MakeMove({.uid = "uid-a", .container = "a", .nodes = target}));
  manager->Sync(world.clock.Now());
  EXPECT_EQ(manager->ledger(), before);
  EXPECT_EQ(world.tree.Read("kubepods/poduid-a/a")->cpus, cpus);
}

}  // namespace
}  // namespace berth::daemon
