// Clocks that a restart of berthd does not set back: grace periods, preStop, back-offs, and the time of admission.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>

#include "daemon/fake_node_test.h"
#include "node/pods/pod_checkpoints.h"
#include "testing/raw_server.h"

namespace berth::daemon {
namespace {

using std::chrono::seconds;

struct KeptTimesTest : PodManagerTest {
  KeptTimesTest() {
    world.options.pods.checkpoints = checkpoints.path() + "/pods";
    world.runtime.deaf = true;  // SIGTERM is ignored
  }

  static Pod WithGrace(std::int64_t grace) {
    Pod pod = MakePod("a", "1");
    pod.termination_grace_s = grace;
    return pod;
  }
  /// A berthd that runs `pod`, and one that is told it is not wanted any more.
  void RunAndRemove(const Pod& pod) {
    auto manager = Boot();
    manager->OnSnapshot(Wanting({pod}), Now());
    ASSERT_TRUE(Runs());
    manager->OnSnapshot(Wanting({}), Now());
    ASSERT_EQ(Terms(), 1);
  }
  bool Runs() { return world.runtime.Runs("uid-a", "a"); }
  int Terms() {
    return static_cast<int>(
        std::ranges::count_if(world.steps.log(), [](const std::string& s) { return s.starts_with("signal "); }));
  }
  /// Lets time go by in steps of a second, as long as the container runs; returns how many.
  int SecondsUntilKilled(TestManager& manager, int most) {
    for (int second = 0; second < most; ++second) {
      if (!Runs()) return second;
      Advance(manager, seconds(1));
    }
    return most;
  }

  testkit::TempDir checkpoints;
};

TEST_F(KeptTimesTest, AGracePeriodGoesOnOverARestartWithoutASecondTerm) {
  RunAndRemove(WithGrace(120));
  for (int restart = 0; restart < 4; ++restart) {
    world.clock.Advance(seconds(20));
    auto manager = Boot();
    manager->OnSnapshot(Wanting({}), Now());
    EXPECT_TRUE(Runs());
  }
  auto manager = Boot();
  manager->OnSnapshot(Wanting({}), Now());
  EXPECT_EQ(SecondsUntilKilled(*manager, 300), 40);
  EXPECT_EQ(Terms(), 1);
}

TEST_F(KeptTimesTest, AShortGracePeriodIsNotLengthenedByARestart) {
  RunAndRemove(WithGrace(1));
  auto manager = Boot();
  manager->OnSnapshot(Wanting({}), Now());
  EXPECT_EQ(SecondsUntilKilled(*manager, 60), 2) << "at least 2 s lie between TERM and KILL";
  EXPECT_EQ(Terms(), 1);
}

TEST_F(KeptTimesTest, AnEndingGoesOnBeforeManifestsAreRead) {
  RunAndRemove(WithGrace(10));
  auto manager = Boot();
  EXPECT_EQ(SecondsUntilKilled(*manager, 60), 10);
}

TEST_F(KeptTimesTest, TheGracePeriodOfAPodWhoseManifestWentWhileBerthdWasAwayIsKnown) {
  {
    auto manager = Boot();
    manager->OnSnapshot(Wanting({WithGrace(120)}), Now());
  }
  auto manager = Boot();
  manager->OnSnapshot(Wanting({}), Now());
  EXPECT_EQ(SecondsUntilKilled(*manager, 300), 120);
}

TEST_F(KeptTimesTest, WhatCouldNotBeKeptIsToldOnceAndTriedAgain) {
  {
    auto manager = Boot();
    std::ofstream(world.options.pods.checkpoints) << "in the way";
    manager->OnSnapshot(Wanting({WithGrace(120)}), Now());
    ASSERT_TRUE(Runs());
    Advance(*manager, world.options.reconcile_period);
    EXPECT_EQ(world.events.counts().at("PodTimesNotKept"), 1U);
    std::filesystem::remove(world.options.pods.checkpoints);
    Advance(*manager, world.options.reconcile_period);
  }
  auto manager = Boot();
  manager->OnSnapshot(Wanting({}), Now());
  EXPECT_EQ(SecondsUntilKilled(*manager, 300), 120);
}

TEST_F(KeptTimesTest, AnEndingIsNotTakenBackByAManifestThatCameWhileBerthdWasAway) {
  const Pod pod = WithGrace(5);
  RunAndRemove(pod);
  auto manager = Boot();
  manager->OnSnapshot(Wanting({pod}), Now());
  EXPECT_EQ(SecondsUntilKilled(*manager, 60), 5);
  manager->OnRuntime(Now());
  Advance(*manager, seconds(1));
  EXPECT_TRUE(Runs()) << "it is started anew when it is gone";
  EXPECT_EQ(world.runtime.containers.begin()->second.attempt, 0);
}

/// Who has seen it, and kills berthd at once, finds it again.
TEST_F(KeptTimesTest, WhatAProbeSaidIsKeptBeforeAnybodySeesIt) {
  const testkit::RawServer server("");
  Pod pod = MakePod("a", "1");
  pod.containers[0].readiness = Probe{.check = TcpCheck{.host = "127.0.0.1", .port = std::to_string(server.port())}};
  const auto ready = [](const TestManager& manager) {
    return manager.pods().at("uid-a").lifecycle->containers().front().ready;
  };
  {
    auto manager = Boot();
    manager->OnSnapshot(Wanting({pod}), Now());
    ASSERT_TRUE(Runs());
    ASSERT_FALSE(ready(*manager));
    world.clock.Advance(seconds(pod.containers[0].readiness->period_s));
    manager->bare().TickProbes(Now());
    manager->executor().RunAll();
    ASSERT_TRUE(ready(*manager));
  }
  auto manager = Boot();
  manager->OnSnapshot(Wanting({pod}), Now());
  EXPECT_TRUE(ready(*manager));
}

TEST_F(KeptTimesTest, WhatWasKeptInAnotherBootOrIsDamagedDoesNotCount) {
  RunAndRemove(WithGrace(120));
  const std::string file = world.options.pods.checkpoints + "/uid-a";
  std::ifstream in(file);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_FALSE(*pods::ParseCheckpoint(text, "another boot"));
  ASSERT_TRUE(*pods::ParseCheckpoint(text, "boot"));
  std::ofstream(file) << text.substr(0, text.size() / 2);
  auto manager = Boot();
  manager->OnSnapshot(Wanting({}), Now());
  EXPECT_TRUE(HasEvent("PodTimesNotKept"));
  EXPECT_EQ(SecondsUntilKilled(*manager, 300), 30) << "as a pod of which nothing is known";
}

TEST_F(KeptTimesTest, TheSleepBeforeAStopGoesOnOverARestartAndTermIsSentOnce) {
  Pod pod = WithGrace(60);
  pod.containers[0].pre_stop_sleep_s = 20;
  {
    auto manager = Boot();
    manager->OnSnapshot(Wanting({pod}), Now());
    ASSERT_TRUE(Runs());
    manager->OnSnapshot(Wanting({}), Now());
  }
  EXPECT_TRUE(world.runtime.stops.empty()) << "it sleeps";
  world.clock.Advance(seconds(5));
  {
    auto manager = Boot();
    manager->Tick(Now());
    Advance(*manager, seconds(14));
    EXPECT_TRUE(world.runtime.stops.empty()) << "it sleeps on";
    Advance(*manager, seconds(2));
    ASSERT_EQ(world.runtime.stops.size(), 1U);
    EXPECT_FALSE(world.runtime.stops[0].asked_before);
    EXPECT_EQ(world.runtime.stops[0].grace, seconds(39));
  }
  auto manager = Boot();
  manager->Tick(Now());
  ASSERT_EQ(world.runtime.stops.size(), 2U) << "a runtime that ends it step by step is told again";
  EXPECT_TRUE(world.runtime.stops[1].asked_before);
}

TEST_F(KeptTimesTest, BackOffGoesOnOverARestartWhateverTheWallClockSays) {
  Pod pod = MakePod("a", "1");
  {
    auto manager = Boot();
    manager->OnSnapshot(Wanting({pod}), Now());
    for (int crash = 0; crash < 3; ++crash) {  // the next start waits 20 s
      world.runtime.Exit("uid-a_a_" + std::to_string(crash), 1);
      manager->OnRuntime(Now());
      if (crash == 1) Advance(*manager, seconds(10));
    }
    ASSERT_FALSE(Runs());
    Advance(*manager, seconds(5));
  }
  world.clock.SetWall(world.clock.Wall() - std::chrono::hours(24));
  auto manager = Boot();
  manager->OnSnapshot(Wanting({pod}), Now());
  for (int second = 0; second < 14; ++second) Advance(*manager, seconds(1));
  EXPECT_FALSE(Runs());
  Advance(*manager, seconds(1));
  EXPECT_TRUE(Runs());
}

TEST_F(KeptTimesTest, AFailedStartIsTriedAgainWhenItWasDue) {
  Pod pod = MakePod("a", "1");
  {
    auto manager = Boot();
    world.runtime.refuse = "no room";
    manager->OnSnapshot(Wanting({pod}), Now());
  }
  world.runtime.refuse.reset();
  world.clock.Advance(seconds(4));
  auto manager = Boot();
  manager->OnSnapshot(Wanting({pod}), Now());
  EXPECT_FALSE(Runs());
  Advance(*manager, seconds(6));
  EXPECT_TRUE(Runs());
}

TEST_F(KeptTimesTest, TheTimeOfAdmissionStays) {
  const Pod pod = MakePod("a", "1");
  std::string at;
  {
    auto manager = Boot();
    manager->OnSnapshot(Wanting({pod}), Now());
    at = manager->pods().at("uid-a").admitted_at();
    ASSERT_FALSE(at.empty());
  }
  world.clock.Advance(seconds(100));
  auto manager = Boot();
  manager->OnSnapshot(Wanting({pod}), Now());
  EXPECT_EQ(manager->pods().at("uid-a").admitted_at(), at);
}

TEST_F(KeptTimesTest, AnEvictedPodStaysEvicted) {
  const Pod pod = MakePod("a", "1");
  pods::PodCheckpoint life{.admitted_at = "2026-01-02T00:00:00.000000Z",
                           .evicted = pods::Why{.reason = "Evicted", .message = "memory was short", .details = {}}};
  pods::PodCheckpoints kept(world.options.pods.checkpoints, "boot");
  ASSERT_TRUE(kept.Keep(pod.uid, life));
  auto manager = Boot();
  manager->OnSnapshot(Wanting({pod}), Now());
  Advance(*manager, seconds(11));
  EXPECT_FALSE(Runs());
  EXPECT_EQ(manager->pods().at(pod.uid).why().message, "memory was short");
  manager->OnSnapshot(Wanting({}), Now());
  manager->OnSnapshot(Wanting({pod}), Now());
  EXPECT_TRUE(Runs()) << "a manifest that was gone is decided anew";
}

TEST_F(KeptTimesTest, NothingIsKeptOfAPodThatIsGone) {
  RunAndRemove(WithGrace(1));
  auto manager = Boot();
  manager->OnSnapshot(Wanting({}), Now());
  SecondsUntilKilled(*manager, 60);
  manager->OnRuntime(Now());
  Advance(*manager, seconds(1));
  ASSERT_TRUE(manager->pods().empty());
  EXPECT_TRUE(pods::PodCheckpoints(world.options.pods.checkpoints, "boot").Load().empty());
  EXPECT_FALSE(std::ifstream(world.options.pods.checkpoints + "/uid-a").good());
}

}  // namespace
}  // namespace berth::daemon
