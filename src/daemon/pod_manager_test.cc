#include "daemon/pod_manager.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "daemon/fake_node_test.h"

namespace berth::daemon {
namespace {

/// A container that runs though the ledger does not know it, and the ledger cannot be written.
struct NoPlaceTest : PodManagerTest {
  std::unique_ptr<TestManager> BootWithoutPlace() {
    Boot()->OnSnapshot(Wanting({MakePod("web", "2")}), Now());
    world.store.saved->ledger = world.node.EmptyLedger();
    world.store.full = true;
    world.steps.set_check(nullptr);
    auto manager = Boot();
    manager->OnSnapshot(Wanting({MakePod("web", "2")}), Now());
    return manager;
  }
};

TEST_F(PodManagerTest, SavesThenShrinksThenStarts) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({MakePod("back", "", QosClass::kBestEffort)}), Now());
  ASSERT_TRUE(world.runtime.Runs("uid-back", "back"));
  world.steps.ClearLog();
  manager->OnSnapshot(Wanting({MakePod("back", "", QosClass::kBestEffort), MakePod("web", "2")}), Now());
  const int saved = world.steps.Find("save");
  const int shrunk = world.steps.Find("cpus kubepods/besteffort");
  const int own = world.steps.Find("cpus berth");
  const int started = world.steps.Find("start web");
  EXPECT_EQ(saved, 0);
  EXPECT_LT(saved, shrunk);
  EXPECT_LT(saved, own);
  EXPECT_LT(shrunk, started);
  EXPECT_LT(own, started);
  EXPECT_EQ(FormatIds(CpusAt("kubepods/poduid-web/web")), "1-2");
  EXPECT_EQ(FormatIds(CpusAt("berth")), "0,3");
}

TEST_F(PodManagerTest, GrowsThePoolOnlyAfterTheEndWasSeenAndSaved) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({MakePod("back", "", QosClass::kBestEffort), MakePod("web", "2")}), Now());
  world.steps.ClearLog();
  world.tree.stuck.insert("kubepods/poduid-web/web");
  manager->OnSnapshot(Wanting({MakePod("back", "", QosClass::kBestEffort)}), Now());
  manager->OnRuntime(Now());
  EXPECT_EQ(world.steps.Find("save"), -1) << "a container whose end is not confirmed keeps its CPUs";
  EXPECT_EQ(FormatIds(CpusAt("berth")), "0,3");
  world.tree.stuck.clear();
  Advance(*manager, os::Millis(1000));
  const int removed = world.steps.Find("rmdir kubepods/poduid-web");
  const int saved = world.steps.Find("save");
  const int grown = world.steps.Find("cpus berth 0-3");
  ASSERT_GE(removed, 0);
  EXPECT_LT(removed, saved);
  EXPECT_LT(saved, grown);
  EXPECT_TRUE(manager->ledger().pods.contains("uid-back"));
  EXPECT_FALSE(manager->ledger().pods.contains("uid-web"));
}

TEST_F(PodManagerTest, RefusesThePodWhenTheLedgerCannotBeSavedAndTriesAgain) {
  auto manager = Boot();
  const Ledger before = manager->ledger();
  world.store.full = true;
  manager->OnSnapshot(Wanting({MakePod("web", "2")}), Now());
  EXPECT_EQ(manager->ledger(), before);
  EXPECT_FALSE(world.runtime.Runs("uid-web", "web"));
  EXPECT_EQ(manager->pods().find("uid-web")->second.why().reason, "LedgerNotSaved");
  EXPECT_TRUE(HasEvent("LedgerNotSaved"));
  EXPECT_EQ(world.steps.Find("mkdir kubepods/poduid-web"), -1);
  world.store.full = false;
  world.clock.Advance(os::Millis(5000));
  ASSERT_LE(manager->next_due(), Now());
  manager->Sync(Now());
  EXPECT_TRUE(world.runtime.Runs("uid-web", "web"));
}

TEST_F(PodManagerTest, KeepsCpusWhenTheReleaseCannotBeSaved) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({MakePod("web", "2")}), Now());
  world.store.full = true;
  manager->OnSnapshot(Wanting({}), Now());
  manager->OnRuntime(Now());
  EXPECT_EQ(FormatIds(CpusAt("berth")), "0,3");
  world.store.full = false;
  Advance(*manager, os::Millis(5000));
  EXPECT_TRUE(manager->pods().empty());
  EXPECT_EQ(FormatIds(CpusAt("berth")), "0-3");
}

TEST_F(PodManagerTest, StartsNothingExclusiveWhileThePoolCannotShrink) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({MakePod("back", "", QosClass::kBestEffort)}), Now());
  world.tree.refuse_writes.insert("kubepods/besteffort");
  manager->OnSnapshot(Wanting({MakePod("back", "", QosClass::kBestEffort), MakePod("web", "2")}), Now());
  EXPECT_FALSE(world.runtime.Runs("uid-web", "web"));
  EXPECT_TRUE(HasEvent("FailedCgroupUpdate"));
  EXPECT_FALSE(manager->Warnings().empty());
  world.tree.refuse_writes.clear();
  Advance(*manager, os::Millis(1500));
  EXPECT_TRUE(world.runtime.Runs("uid-web", "web"));
  EXPECT_TRUE(manager->Warnings().empty());
}

TEST_F(PodManagerTest, RejectedPodTakesNothingAndStaysFailedWhileNothingIsGivenBack) {
  auto manager = Boot();
  const Ledger before = manager->ledger();
  manager->OnSnapshot(Wanting({MakePod("big", "4")}), Now());
  const ManagedPod& pod = manager->pods().find("uid-big")->second;
  EXPECT_TRUE(pod.Is<pods::Rejected>());
  EXPECT_FALSE(pod.why().reason.empty());
  EXPECT_FALSE(pod.why().message.empty());
  EXPECT_EQ(manager->ledger(), before);
  Advance(*manager, std::chrono::minutes(10));
  EXPECT_TRUE(manager->pods().find("uid-big")->second.Is<pods::Rejected>());
  manager->OnSnapshot(Wanting({}), Now());
  EXPECT_TRUE(manager->pods().empty());
  EXPECT_TRUE(manager->idle());
}

TEST_F(PodManagerTest, ARejectedPodIsDecidedAgainWhenAnotherOneHasGone) {
  auto manager = Boot();
  const Pod first = MakePod("a", "2");
  Pod low = MakePod("b", "2");
  Pod high = MakePod("c", "2");
  low.priority = 1;
  high.priority = 2;
  manager->OnSnapshot(Wanting({first, low, high}), Now());
  for (const char* uid : {"uid-b", "uid-c"}) ASSERT_TRUE(manager->pods().find(uid)->second.Is<pods::Rejected>()) << uid;
  const std::uint64_t decisions = manager->pods().find("uid-c")->second.decisions;
  Advance(*manager, std::chrono::minutes(1));
  EXPECT_EQ(manager->pods().find("uid-c")->second.decisions, decisions) << "nothing was given back";

  manager->OnSnapshot(Wanting({low, high}), Now());
  manager->OnRuntime(Now());
  EXPECT_TRUE(world.runtime.Runs("uid-c", "c")) << "the one of the higher priority";
  EXPECT_TRUE(manager->pods().find("uid-b")->second.Is<pods::Rejected>());
  EXPECT_TRUE(HasEvent("Reconsidered"));
  EXPECT_EQ(FormatIds(CpusAt("kubepods/poduid-c/c")), "1-2");
}

TEST_F(PodManagerTest, RejectedPodsAreDecidedAgainOnceASecondAtMost) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({MakePod("a", "1"), MakePod("b", "1"), MakePod("big", "3")}), Now());
  const ManagedPod& big = manager->pods().find("uid-big")->second;
  ASSERT_TRUE(big.Is<pods::Rejected>());
  manager->OnSnapshot(Wanting({MakePod("b", "1"), MakePod("big", "3")}), Now());
  manager->OnRuntime(Now());
  EXPECT_EQ(big.decisions, 2U);
  manager->OnSnapshot(Wanting({MakePod("big", "3")}), Now());
  manager->OnRuntime(Now());
  EXPECT_EQ(big.decisions, 2U);
  EXPECT_LE(manager->next_due(), Now() + std::chrono::seconds(1));
  Advance(*manager, std::chrono::seconds(1));
  EXPECT_EQ(big.decisions, 3U);
  EXPECT_TRUE(world.runtime.Runs("uid-big", "big"));
}

TEST_F(PodManagerTest, ANewVersionHasTheOldOnesPlaceBeforeRejectedPodsDo) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({MakePod("a", "3"), MakePod("b", "3")}), Now());
  ASSERT_TRUE(manager->pods().find("uid-b")->second.Is<pods::Rejected>());
  Pod changed = MakePod("a", "3");
  changed.uid = "uid-a2";
  manager->OnSnapshot(Wanting({changed, MakePod("b", "3")}), Now());
  manager->OnRuntime(Now());
  Advance(*manager, std::chrono::seconds(2));
  EXPECT_TRUE(world.runtime.Runs("uid-a2", "a"));
  EXPECT_TRUE(manager->pods().find("uid-b")->second.Is<pods::Rejected>());
}

TEST_F(PodManagerTest, APodThatWasDeletedAndMadeAgainIsAnotherOne) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({MakePod("web", "2"), MakePod("big", "4")}), Now());
  const int pid = world.runtime.next_pid;
  const std::uint64_t arrival = manager->pods().find("uid-big")->second.arrival;
  manager->bare().OnSnapshot(Wanting({}));  // seen before anything else was done
  manager->OnSnapshot(Wanting({MakePod("web", "2"), MakePod("big", "4")}), Now());
  manager->OnRuntime(Now());
  EXPECT_TRUE(world.runtime.Runs("uid-web", "web"));
  EXPECT_GT(world.runtime.next_pid, pid) << "it was started anew";
  EXPECT_GT(manager->pods().find("uid-big")->second.arrival, arrival) << "what was rejected before is forgotten";
}

TEST_F(PodManagerTest, AnotherReconcilePeriodCountsFromTheLastCheck) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({MakePod("web", "1")}), Now());
  world.runtime.Exit("uid-web_web_0", 1);  // and the runtime does not say so
  world.clock.Advance(std::chrono::seconds(3));
  manager->bare().Reload(std::chrono::seconds(5), false);
  manager->Tick(Now());
  EXPECT_FALSE(HasEvent("ContainerLost"));
  world.clock.Advance(std::chrono::seconds(2));
  manager->Tick(Now());
  EXPECT_TRUE(HasEvent("ContainerLost"));
}

TEST_F(PodManagerTest, APodThatDoesNotFitWaitsForOnesThatAreEnding) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({MakePod("old", "3")}), Now());
  world.runtime.deaf = true;
  manager->OnSnapshot(Wanting({MakePod("new", "3")}), Now());
  EXPECT_EQ(manager->pods().find("uid-new")->second.why().reason, "WaitingForRelease");
  Advance(*manager, std::chrono::seconds(31));  // the grace period is over: KILL
  manager->OnRuntime(Now());
  EXPECT_TRUE(world.runtime.Runs("uid-new", "new"));
  EXPECT_FALSE(manager->pods().contains("uid-old"));
}

TEST_F(PodManagerTest, ANewVersionStartsWhenTheOldOneIsGone) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({MakePod("web", "2")}), Now());
  Pod changed = MakePod("web", "3");
  changed.uid = "uid-web2";
  manager->OnSnapshot(Wanting({changed}), Now());
  EXPECT_FALSE(world.runtime.Runs("uid-web2", "web"));
  manager->OnRuntime(Now());
  EXPECT_TRUE(world.runtime.Runs("uid-web2", "web"));
  EXPECT_FALSE(manager->pods().contains("uid-web"));
  EXPECT_EQ(FormatIds(CpusAt("kubepods/poduid-web2/web")), "1-3");
}

TEST_F(PodManagerTest, ANewBerthdFindsEverythingAgainAndStartsNothing) {
  const std::vector<Pod> pods = {MakePod("back", "", QosClass::kBestEffort), MakePod("web", "2")};
  auto manager = Boot();
  manager->OnSnapshot(Wanting(pods), Now());
  const Ledger before = manager->ledger();
  const auto containers = world.runtime.containers;
  world.steps.ClearLog();
  manager.reset();
  manager = Boot();
  EXPECT_EQ(manager->ledger(), before);
  manager->OnSnapshot(Wanting(pods), Now());
  EXPECT_EQ(manager->ledger(), before);
  EXPECT_EQ(world.runtime.containers, containers);
  EXPECT_TRUE(world.steps.log().empty()) << world.steps.log().front();
}

TEST_F(PodManagerTest, NothingIsRemovedBeforeTheSourceIsReadyOrWhileItIsIncomplete) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({MakePod("web", "2")}), Now());
  manager = Boot();
  Advance(*manager, std::chrono::minutes(1));
  EXPECT_TRUE(world.runtime.Runs("uid-web", "web"));
  pod_sources::Snapshot partial = Wanting({});
  partial.complete = false;
  manager->OnSnapshot(std::move(partial), Now());
  EXPECT_TRUE(world.runtime.Runs("uid-web", "web"));
  manager->OnSnapshot(Wanting({}), Now());
  manager->OnRuntime(Now());
  EXPECT_FALSE(world.runtime.Runs("uid-web", "web"));
  EXPECT_TRUE(manager->ledger().pods.empty());
}

TEST_F(PodManagerTest, WhatPodsOfAKilledBerthdLeftOnDiskIsRemovedWhenAllManifestsAreKnown) {
  testkit::TempDir work;
  world.pod_options.notes = work / "pods";
  world.pod_options.volumes = {.disk = work / "disk", .memory = work / "memory", .pins = work / "pins"};
  const auto make = [&](const std::string& name) {
    std::vector<std::string> out = {world.logs / ("default_" + name + "_uid-" + name), work / ("disk/uid-" + name),
                                    work / ("memory/uid-" + name), work / ("pins/uid-" + name)};
    for (const std::string& folder : out) std::filesystem::create_directories(folder + "/below");
    return out;
  };
  const auto there = [](const std::string& folder) { return std::filesystem::exists(folder); };
  auto manager = Boot();
  manager->OnSnapshot(Wanting({MakePod("gone", "1")}), Now());
  const std::vector<std::string> of_gone = make("gone");
  std::filesystem::remove(of_gone[3] + "/below");
  world.runtime.containers.clear();  // berthd and it end here, and its place was given back
  world.store.saved->ledger = world.node.EmptyLedger();
  const std::vector<std::string> of_others = make("others");  // that another program made

  manager = Boot();
  Advance(*manager, world.options.reconcile_period);
  EXPECT_TRUE(std::ranges::all_of(of_gone, there)) << "it may be one whose manifest is not read yet";
  manager->OnSnapshot(Wanting({MakePod("web", "1")}), Now());
  const std::vector<std::string> of_web = make("web");
  Advance(*manager, world.options.reconcile_period);
  EXPECT_TRUE(std::ranges::none_of(of_gone, there));
  EXPECT_TRUE(std::ranges::all_of(of_web, there));
  EXPECT_TRUE(std::ranges::all_of(of_others, there));
  EXPECT_EQ(1U, pods::NotedPods(world.pod_options.notes).size());
}

VolumeMount MountOf(const std::string& volume, const std::string& path) {
  VolumeMount out;
  out.name = volume;
  out.mount_path = path;
  return out;
}

TEST_F(PodManagerTest, WhatAContainerMountsIsMadeAwayFromTheLoopBeforeItStarts) {
  testkit::TempDir work;
  world.pod_options.notes = work / "pods";
  world.pod_options.volumes = {.disk = work / "disk", .memory = work / "memory", .pins = work / "pins"};
  Pod pod = MakePod("web", "1");
  pod.volumes = {{.name = "scratch", .kind = Volume::Kind::kEmptyDir, .host_path = "", .type = "", .medium = ""}};
  pod.containers[0].mounts = {MountOf("scratch", "/scratch")};
  const std::string folder = work / "disk/uid-web/scratch";
  auto manager = Boot();
  manager->bare().OnSnapshot(Wanting({pod}));
  const auto mounts = [&] { return manager->bare().static_pods().Mounts("uid-web"); };
  for (int turn = 0; turn < 20 && !mounts(); ++turn) {
    manager->bare().Tick(Now());
    if (!mounts()) manager->executor().RunOne();
  }
  ASSERT_TRUE(mounts());
  EXPECT_FALSE(std::filesystem::exists(folder));
  manager->bare().Tick(Now());
  EXPECT_FALSE(world.runtime.Runs("uid-web", "web"));

  manager->bare().OnSnapshot(Wanting({}));
  manager->bare().Tick(Now());
  EXPECT_TRUE(manager->pods().contains("uid-web")) << "its volumes are being made";
  Advance(*manager, std::chrono::seconds(1));
  EXPECT_FALSE(manager->pods().contains("uid-web"));
  EXPECT_FALSE(std::filesystem::exists(work / "disk/uid-web")) << "nothing made it after it was removed";

  manager->OnSnapshot(Wanting({pod}), Now());
  Advance(*manager, std::chrono::seconds(1));
  EXPECT_TRUE(world.runtime.Runs("uid-web", "web"));
  EXPECT_TRUE(std::filesystem::exists(folder));
}

// A dry run may be given the folders of a berthd that runs pods of the same uids.
TEST_F(PodManagerTest, VolumesOnDiskAreOfNoPodWhereNoneAreMade) {
  testkit::TempDir work;
  world.pod_options.volumes = {.disk = work / "disk", .memory = work / "memory", .pins = work / "pins"};
  const std::string folder = work / "disk/uid-web/v";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/large") << std::string(100'000, 'x');
  Pod pod = MakePod("web", "1");
  pod.volumes = {{.name = "v",
                  .kind = Volume::Kind::kEmptyDir,
                  .host_path = "",
                  .type = "",
                  .medium = "",
                  .size_limit = Quantity::FromUnits(4096)}};
  for (const bool made : {false, true}) {
    world.pod_options.notes = made ? work / "pods" : "";
    auto manager = Boot();
    manager->OnSnapshot(Wanting({pod}), Now());
    Advance(*manager, 2 * world.options.reconcile_period);
    EXPECT_EQ(made, HasEvent("Evicted"));
  }
}

TEST_F(PodManagerTest, AVolumeThatCannotBeMadeIsToldOfAndTriedAgain) {
  testkit::TempDir work;
  world.pod_options.notes = work / "pods";
  Pod pod = MakePod("web", "1");
  pod.volumes = {
      {.name = "data", .kind = Volume::Kind::kHostPath, .host_path = work / "data", .type = "Directory", .medium = ""}};
  pod.containers[0].mounts = {MountOf("data", "/data")};
  auto manager = Boot();
  manager->OnSnapshot(Wanting({pod}), Now());
  EXPECT_TRUE(HasEvent("FailedCreatePodContainer"));
  EXPECT_FALSE(world.runtime.Runs("uid-web", "web"));
  std::filesystem::create_directory(work / "data");
  Advance(*manager, std::chrono::seconds(11));
  EXPECT_TRUE(world.runtime.Runs("uid-web", "web"));
}

TEST_F(PodManagerTest, AFinishedPodIsNotRunAgainAfterARestartOfBerthd) {
  Pod job = MakePod("job", "1");
  job.restart_policy = RestartPolicy::kNever;
  auto manager = Boot();
  manager->OnSnapshot(Wanting({job}), Now());
  world.runtime.Exit("uid-job_job_0", 0);
  manager->OnRuntime(Now());
  EXPECT_TRUE(manager->pods().find("uid-job")->second.Is<pods::Done>());
  EXPECT_TRUE(manager->ledger().pods.empty());
  manager = Boot();
  manager->OnSnapshot(Wanting({job}), Now());
  EXPECT_TRUE(manager->pods().find("uid-job")->second.Is<pods::Done>());
  EXPECT_EQ(world.runtime.containers.size(), 1U);
  EXPECT_EQ(world.runtime.containers.begin()->second.attempt, 0);
}

TEST_F(PodManagerTest, RepairsOnlyWhatSomebodyElseChanged) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({MakePod("back", "", QosClass::kBestEffort), MakePod("web", "2")}), Now());
  const std::uint64_t writes = world.tree.writes();
  Advance(*manager, std::chrono::seconds(10));
  EXPECT_EQ(world.tree.writes(), writes) << "nothing differed, nothing is written";
  world.tree.ForeignWrite("kubepods/besteffort/poduid-back/back", CpuSet::Range(0, 0));
  const std::uint64_t after_foreign = world.tree.writes();
  Advance(*manager, std::chrono::seconds(10));
  EXPECT_EQ(world.tree.writes(), after_foreign + 1);
  EXPECT_EQ(FormatIds(CpusAt("kubepods/besteffort/poduid-back/back")), "0,3");
  EXPECT_TRUE(HasEvent("CgroupRepaired"));
}

TEST_F(PodManagerTest, ReportsEachSourceProblemOnce) {
  auto manager = Boot();
  pod_sources::Snapshot broken = Wanting({MakePod("web", "1")});
  broken.problems.push_back({"/pods/bad.yaml", "/pods/bad.yaml: spec.containers: Required value"});
  manager->OnSnapshot(broken, Now());
  manager->OnSnapshot(broken, Now());
  const auto count = std::ranges::count_if(
      world.events.events(), [](const Event& e) { return e.reason == "FailedValidation" && e.count == 1; });
  EXPECT_EQ(count, 1);
  EXPECT_TRUE(world.runtime.Runs("uid-web", "web")) << "the rest goes on";
}

TEST_F(PodManagerTest, RuntimeErrorsAreTriedAgainWithBackOff) {
  auto manager = Boot();
  world.runtime.refuse = "fork: Resource temporarily unavailable";
  manager->OnSnapshot(Wanting({MakePod("web", "1")}), Now());
  EXPECT_TRUE(HasEvent("FailedCreatePodContainer"));
  world.runtime.refuse.reset();
  Advance(*manager, std::chrono::seconds(11));
  EXPECT_TRUE(world.runtime.Runs("uid-web", "web"));
}

TEST_F(PodManagerTest, APodWhoseManifestWasEditedWhileBerthdWasDownIsAdmittedAnew) {
  {
    auto manager = Boot();
    manager->OnSnapshot(Wanting({MakePod("web", "1")}), Now());
    ASSERT_TRUE(world.runtime.Runs("uid-web", "web"));
  }
  auto manager = Boot();
  world.steps.ClearLog();
  Pod edited = MakePod("web", "2");  // the same uid, given by the manifest
  edited.containers[0].command = {"/bin/other"};
  manager->OnSnapshot(Wanting({edited}), Now());
  manager->OnRuntime(Now());
  Advance(*manager, os::Millis(1000));
  EXPECT_GE(world.steps.Find("signal uid-web_web_0"), 0) << "it ran with what it asked for before";
  ASSERT_TRUE(manager->ledger().pods.contains("uid-web"));
  EXPECT_EQ(ExclusiveCpus(manager->ledger().pods.find("uid-web")->second).Count(), 2);
  EXPECT_TRUE(world.runtime.Runs("uid-web", "web"));
}

TEST_F(PodManagerTest, ContainersWithoutRecordInTheLedgerAreTakenInOrEnded) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({MakePod("web", "2"), MakePod("stray", "1")}), Now());
  world.store.saved->ledger = world.node.EmptyLedger();  // as if an older copy had been restored
  world.steps.set_check(nullptr);
  manager = Boot();
  manager->OnSnapshot(Wanting({MakePod("web", "2")}), Now());
  manager->OnRuntime(Now());
  EXPECT_TRUE(world.runtime.Runs("uid-web", "web"));
  EXPECT_FALSE(world.runtime.Runs("uid-stray", "stray"));
  EXPECT_TRUE(manager->ledger().pods.contains("uid-web"));
  EXPECT_FALSE(manager->pods().contains("uid-stray"));
  EXPECT_EQ(CpusAt("kubepods/poduid-web/web"), ExclusiveCpus(manager->ledger()));
}

TEST_F(NoPlaceTest, AContainerWithoutPlaceIsEndedWhenItsManifestGoes) {
  auto manager = BootWithoutPlace();
  EXPECT_TRUE(manager->pods().find("uid-web")->second.Is<pods::Waiting>());
  EXPECT_FALSE(manager->idle()) << "it runs, though without a place";
  manager->OnSnapshot(Wanting({}), Now());
  manager->OnRuntime(Now());
  EXPECT_FALSE(world.runtime.Runs("uid-web", "web"));
  EXPECT_TRUE(manager->pods().empty());
}

TEST_F(NoPlaceTest, StopAllEndsAContainerWithoutPlaceThatIgnoresTerm) {
  auto manager = BootWithoutPlace();
  Advance(*manager, std::chrono::minutes(1));  // the place is decided again, and cannot be saved again
  world.runtime.deaf = true;
  manager->StopAll(Now());
  EXPECT_FALSE(manager->idle());
  Advance(*manager, std::chrono::seconds(31));
  manager->OnRuntime(Now());
  EXPECT_TRUE(manager->idle());
  EXPECT_FALSE(world.runtime.Runs("uid-web", "web"));
}

TEST_F(PodManagerTest, GroupsThatBerthDidNotMakeAreReportedOnceAndLeftAlone) {
  const std::string group = "kubepods/burstable/podother/app";
  world.steps.set_check(nullptr);
  ASSERT_TRUE(world.tree.Create(group));
  world.tree.ForeignWrite(group, CpuSet::Range(0, 3));
  auto manager = Boot();
  manager->OnSnapshot(Wanting({MakePod("web", "2")}), Now());
  Advance(*manager, std::chrono::seconds(11));
  Advance(*manager, std::chrono::seconds(11));
  EXPECT_EQ(FormatIds(CpusAt(group)), "0,3") << "kept off exclusive CPUs by its class; its own set is not touched";
  const auto reported =
      std::ranges::count_if(world.events.events(), [](const Event& e) { return e.reason == "UnknownGroup"; });
  EXPECT_EQ(reported, 1);
  EXPECT_EQ(world.steps.Find("rmdir"), -1);
}

TEST_F(PodManagerTest, AMemoryLimitBelowPresentUseWaitsUntilItFits) {
  world.tree.memory_used = Bytes{std::int64_t{1} << 50};
  auto manager = Boot();
  EXPECT_FALSE(world.tree.Read("kubepods")->memory_max);
  EXPECT_TRUE(HasEvent("FailedNodeAllocatableEnforcement"));
  EXPECT_FALSE(manager->Warnings().empty());
  world.tree.memory_used = Bytes{0};
  Advance(*manager, std::chrono::seconds(11));
  EXPECT_TRUE(world.tree.Read("kubepods")->memory_max);
  EXPECT_TRUE(HasEvent("NodeAllocatableEnforced"));
  EXPECT_TRUE(manager->Warnings().empty());
}

TEST_F(PodManagerTest, AMemoryLimitTheKernelRefusesIsAWarning) {
  world.tree.refuse_memory = true;
  auto manager = Boot();
  EXPECT_TRUE(HasEvent("FailedNodeAllocatableEnforcement"));
  manager->OnSnapshot(Wanting({MakePod("web", "2")}), Now());
  EXPECT_TRUE(world.runtime.Runs("uid-web", "web"));
}

TEST_F(PodManagerTest, TheLoopNeverWaitsLongForProcessesThatDoNotDie) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({MakePod("web", "2")}), Now());
  world.tree.stuck.insert("kubepods/poduid-web/web");
  manager->OnSnapshot(Wanting({}), Now());
  manager->OnRuntime(Now());
  for (int i = 0; i < 100; ++i) {
    Advance(*manager, std::chrono::ceil<os::Millis>(manager->next_due() - Now()));
  }
  EXPECT_EQ(world.tree.longest_wait, os::Millis(0));
  EXPECT_TRUE(HasEvent("FailedKillPod"));
  EXPECT_TRUE(manager->ledger().pods.contains("uid-web"));
  world.tree.stuck.clear();
  Advance(*manager, std::chrono::seconds(11));
  EXPECT_TRUE(manager->pods().empty());
}

TEST_F(PodManagerTest, AStartWaitsForLeftoversThatDieSlowly) {
  auto manager = Boot();
  world.tree.stuck.insert("kubepods/poduid-web/web");
  manager->OnSnapshot(Wanting({MakePod("web", "2")}), Now());
  for (int look = 0; look < 20; ++look) Advance(*manager, std::chrono::ceil<os::Millis>(manager->next_due() - Now()));
  EXPECT_FALSE(HasEvent("FailedCreatePodContainer"));
  EXPECT_FALSE(world.runtime.Runs("uid-web", "web"));
  world.tree.stuck.clear();
  Advance(*manager, std::chrono::seconds(1));
  EXPECT_TRUE(world.runtime.Runs("uid-web", "web"));
}

TEST_F(PodManagerTest, LeftoversThatDoNotDieFailTheStart) {
  auto manager = Boot();
  world.tree.stuck.insert("kubepods/poduid-web/web");
  manager->OnSnapshot(Wanting({MakePod("web", "2")}), Now());
  for (int second = 0; second < 12; ++second) Advance(*manager, std::chrono::seconds(1));
  EXPECT_TRUE(HasEvent("FailedCreatePodContainer"));
  world.tree.stuck.clear();
  Advance(*manager, std::chrono::seconds(11));  // the back-off
  EXPECT_TRUE(world.runtime.Runs("uid-web", "web"));
}

TEST_F(PodManagerTest, ProcessesThatSigkillDoesNotEndAreToldAndKeepTheirCpus) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({MakePod("web", "2")}), Now());
  world.runtime.undying = true;
  manager->OnSnapshot(Wanting({}), Now());
  EXPECT_TRUE(manager->pods().at("uid-web").lifecycle->containers().front().ready) << "asked to end";
  Advance(*manager, std::chrono::seconds(31));  // after the grace period
  EXPECT_FALSE(manager->pods().at("uid-web").lifecycle->containers().front().ready);
  Advance(*manager, std::chrono::seconds(9));
  EXPECT_FALSE(HasEvent("FailedKillPod"));
  Advance(*manager, std::chrono::seconds(2));
  auto events = world.events.events();
  const auto told = std::ranges::find(events, "FailedKillPod", &Event::reason);
  ASSERT_NE(told, events.end());
  EXPECT_EQ((*told).message,
            fmt::format("container web: processes of cgroup {} survive SIGKILL: {} (state D); they wait in the kernel "
                        "(state D) or are frozen, and keep their CPUs and devices until they end",
                        kWeb, world.runtime.containers.begin()->second.pid));
  EXPECT_TRUE(manager->ledger().pods.contains("uid-web"));
  world.runtime.undying = false;
  Advance(*manager, std::chrono::seconds(11));
  manager->OnRuntime(Now());
  EXPECT_TRUE(manager->pods().empty());
}

TEST_F(PodManagerTest, ThePodThatUsesMostAboveItsRequestIsEvictedAndOnlyOneAtATime) {
  auto manager = Boot();
  const std::vector<Pod> pods = {MakePod("calm", "", QosClass::kBestEffort),
                                 MakePod("hungry", "100m", QosClass::kBurstable), MakePod("web", "1")};
  manager->OnSnapshot(Wanting(pods), Now());
  ASSERT_TRUE(world.runtime.Runs("uid-hungry", "hungry"));
  world.runtime.deaf = true;
  world.tree.working_sets = {{"kubepods/besteffort/poduid-calm", MiB(5)},
                             {"kubepods/burstable/poduid-hungry", MiB(900)},
                             {"kubepods/poduid-web", MiB(1)}};
  world.tree.figures = cgroup::HostFigures{.memory = MiB(1000), .working_set = MiB(950)};
  Advance(*manager, std::chrono::seconds(11));
  const ManagedPod& hungry = manager->pods().find("uid-hungry")->second;
  EXPECT_EQ("Evicted", hungry.why().reason);
  EXPECT_EQ(
      "The node was low on resource: memory. Threshold quantity: 104857600, available: 52428800. The pod was using "
      "943718400, request is 1048576, has larger consumption of memory.",
      hungry.why().message);
  EXPECT_TRUE(HasEvent("EvictionThresholdMet"));
  EXPECT_TRUE(HasEvent("NodeHasMemoryPressure"));
  EXPECT_TRUE(world.runtime.Runs("uid-hungry", "hungry")) << "asked to end";
  Advance(*manager, std::chrono::milliseconds(1500));
  EXPECT_NE("Evicted", manager->pods().find("uid-calm")->second.why().reason) << "the first one is still ending";
  Advance(*manager, std::chrono::seconds(2));
  EXPECT_FALSE(world.runtime.Runs("uid-hungry", "hungry")) << "killed after its short grace period";
  manager->OnRuntime(Now());
  world.tree.figures->working_set = MiB(100);
  Advance(*manager, std::chrono::seconds(11));
  EXPECT_FALSE(manager->ledger().pods.contains("uid-hungry"));
  EXPECT_TRUE(world.runtime.Runs("uid-calm", "calm"));
}

TEST_F(PodManagerTest, PageCacheThatCanBeDroppedEvictsNobodyWhereTheSettingsSaySo) {
  world.options.reconciler.eviction->ignores_cache = true;
  auto manager = Boot();
  manager->OnSnapshot(
      Wanting({MakePod("reader", "", QosClass::kBestEffort), MakePod("eater", "", QosClass::kBestEffort)}), Now());
  world.tree.working_sets = {{"kubepods/besteffort/poduid-reader", MiB(700)},
                             {"kubepods/besteffort/poduid-eater", MiB(200)}};
  world.tree.active_files = {{"kubepods/besteffort/poduid-reader", MiB(650)}};
  world.tree.figures = cgroup::HostFigures{.memory = MiB(1000), .working_set = MiB(950), .active_file = MiB(650)};
  Advance(*manager, std::chrono::seconds(11));
  EXPECT_FALSE(HasEvent("EvictionThresholdMet")) << "700 MiB can be had";
  world.tree.figures->active_file = MiB(20);
  Advance(*manager, std::chrono::seconds(11));
  EXPECT_TRUE(HasEvent("EvictionThresholdMet"));
  EXPECT_EQ("Evicted", manager->pods().at("uid-eater").why().reason) << "the other one has less for itself";
  EXPECT_NE("Evicted", manager->pods().at("uid-reader").why().reason);
}

TEST_F(PodManagerTest, WhatIsSetAsideForHugePagesIsInUseAndFrom137OnApartOrByTheGateAvailable) {
  const auto is_met = [&](KubeletVersion version, bool gate, const std::string& threshold) {
    FakeNode fresh(MakeNode());
    KubeletConfiguration config = fresh.node.config();
    config.eviction_hard = {{"memory.available", threshold}};
    if (!gate) config.feature_gates["HugepageAwareEviction"] = false;
    auto node = allocator::Node::Make(fresh.node.machine(), config, {.kubelet_version = version});
    EXPECT_TRUE(node) << node.error().message;
    fresh.node = *std::move(node);
    fresh.tree.figures = cgroup::HostFigures{.memory = MiB(1600), .working_set = MiB(1300), .huge_pages = MiB(200)};
    auto manager = fresh.Boot();
    EXPECT_TRUE(manager->Start(std::nullopt, fresh.clock.Now()));
    fresh.clock.Advance(std::chrono::seconds(11));
    manager->Sync(fresh.clock.Now());
    return fresh.events.counts().contains("EvictionThresholdMet");
  };
  for (const KubeletVersion version : kKubeletVersions)
    EXPECT_TRUE(is_met(version, true, "200Mi")) << Name(version) << ": 100 MiB are left";
  EXPECT_FALSE(is_met(KubeletVersion::k1_37, false, "200Mi")) << "300 MiB are";
  EXPECT_TRUE(is_met(KubeletVersion::k1_36, true, "7%")) << "112 MiB of 1600";
  EXPECT_FALSE(is_met(KubeletVersion::k1_37, true, "7%")) << "98 MiB of 1400";
  EXPECT_TRUE(is_met(KubeletVersion::k1_37, true, "8%")) << "112 MiB of 1400";
}

TEST_F(PodManagerTest, UnderPressureBestEffortPodsWaitAndNobodyIsEvictedWhoCannotHelp) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({MakePod("web", "1")}), Now());
  world.tree.working_sets = {{"kubepods/poduid-web", Bytes{0}}};
  world.tree.figures = cgroup::HostFigures{.memory = MiB(1000), .working_set = MiB(950)};
  Advance(*manager, std::chrono::seconds(11));
  EXPECT_TRUE(HasEvent("EvictionThresholdMet"));
  EXPECT_TRUE(world.runtime.Runs("uid-web", "web"));
  manager->OnSnapshot(Wanting({MakePod("web", "1"), MakePod("late", "", QosClass::kBestEffort)}), Now());
  EXPECT_EQ("NodeUnderPressure", manager->pods().find("uid-late")->second.why().reason);
  world.tree.figures->working_set = MiB(100);
  Advance(*manager, std::chrono::seconds(11));
  EXPECT_EQ("NodeUnderPressure", manager->pods().find("uid-late")->second.why().reason) << "for the transition period";
  Advance(*manager, std::chrono::seconds(301));
  Advance(*manager, std::chrono::seconds(11));
  EXPECT_TRUE(world.runtime.Runs("uid-late", "late"));
}

TEST_F(PodManagerTest, ACpuTakenOfflineIsNotRepairedAgainAndAgain) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({MakePod("back", "", QosClass::kBestEffort), MakePod("web", "2")}), Now());
  world.tree.online = CpuSet::Range(0, 2);
  for (const char* group : {"kubepods/besteffort", "kubepods/burstable", "berth"})
    world.tree.ForeignWrite(group, CpuSet::Range(0, 0));  // as the kernel takes them away
  world.tree.ForeignWrite("kubepods/poduid-web", CpuSet::Range(0, 2));
  const std::uint64_t writes = world.tree.writes();
  Advance(*manager, std::chrono::seconds(11));
  EXPECT_EQ(world.tree.writes(), writes);
  EXPECT_FALSE(HasEvent("CgroupRepaired"));
  world.tree.online = CpuSet::Range(0, 3);
  Advance(*manager, std::chrono::seconds(11));
  EXPECT_EQ(FormatIds(CpusAt("berth")), "0,3");
}

TEST_F(PodManagerTest, ALedgerFittedToTheNodeIsSavedBeforeThePoolFollowsIt) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({MakePod("back", "", QosClass::kBestEffort), MakePod("web", "2")}), Now());
  Ledger& saved = world.store.saved->ledger;
  saved.pods.find("uid-web")->second.placements.front().cpus = CpuSet::Range(7, 8);  // as on a bigger machine
  world.steps.set_check(nullptr);
  world.store.full = true;
  manager = Boot();
  EXPECT_EQ(FormatIds(CpusAt("berth")), "0,3");
  EXPECT_TRUE(HasEvent("LedgerNotSaved"));
  world.store.full = false;
  world.steps.ClearLog();
  Advance(*manager, std::chrono::seconds(2));
  EXPECT_EQ(world.steps.Find("save"), 0);
  EXPECT_EQ(FormatIds(CpusAt("berth")), "0-3");
  EXPECT_EQ(saved, manager->ledger());
}

TEST_F(PodManagerTest, ManyPodsComeAndGoInSlicesBetweenWhichOthersAreServed) {
  auto manager = Boot();
  std::vector<Pod> many;
  for (int i = 0; i < 40; ++i) many.push_back(MakePod("p" + std::to_string(i), "", QosClass::kBestEffort));
  // Steps of 1 ms between two turns of the loop: a slice, and what one pod needs beyond it.
  int most = 0;
  int last = 0;
  int turns = 0;
  world.steps.set_check([&] { world.clock.Advance(os::Millis(1)); });
  manager->set_on_turn([&] {
    const int now = static_cast<int>(world.steps.log().size());
    most = std::max(most, now - last);
    last = now;
    ++turns;
  });
  manager->OnSnapshot(Wanting(many), Now());
  EXPECT_EQ(world.runtime.containers.size(), many.size());
  manager->OnSnapshot(Wanting({}), Now());
  manager->OnRuntime(Now());
  EXPECT_TRUE(manager->pods().empty());
  EXPECT_LE(most, 10 + 8);
  EXPECT_GT(last, 200);
  EXPECT_GT(turns, last / 18);
}

TEST_F(PodManagerTest, APoolOfManyShrinksInSlicesBeforeAnythingRunsOnTheCpusItGaveUp) {
  auto manager = Boot();
  std::vector<Pod> pods;  // Guaranteed without CPUs of their own: each has a cpuset to be written
  for (int i = 0; i < 40; ++i) pods.push_back(MakePod("p" + std::to_string(i), "10m"));
  manager->OnSnapshot(Wanting(pods), Now());
  ASSERT_EQ(world.runtime.containers.size(), pods.size());
  int most = 0;
  int last = 0;
  world.steps.ClearLog();
  world.steps.set_check([&] {
    world.CheckPromises();
    world.clock.Advance(os::Millis(1));
  });
  manager->set_on_turn([&] {
    const int now = static_cast<int>(world.steps.log().size());
    most = std::max(most, now - last);
    last = now;
  });
  pods.push_back(MakePod("own", "1"));
  manager->OnSnapshot(Wanting(pods), Now());
  EXPECT_TRUE(world.runtime.Runs("uid-own", "own"));
  EXPECT_GE(last, 80) << "the cpuset of each pod and its container";
  EXPECT_LE(most, 10 + 8);
  manager->OnSnapshot(Wanting(std::vector<Pod>(pods.begin(), pods.end() - 1)), Now());
  manager->OnRuntime(Now());
  EXPECT_EQ(FormatIds(CpusAt("berth")), "0-3");
  EXPECT_LE(most, 10 + 8);
}

TEST_F(PodManagerTest, InitContainersGiveTheirMemoryBackWhenTheNextContainerStarts) {
  auto machine = machine::ParseSynthetic("numa:2(memory=4GB) core:2 pu:1");
  ASSERT_TRUE(machine);
  KubeletConfiguration config;
  config.cpu_manager_policy = "static";
  config.reserved_system_cpus = "0";
  config.memory_manager_policy = "Static";
  config.reserved_memory = {{NumaId{0}, {{"memory", *Quantity::Parse("100Mi")}}}};
  auto node = allocator::Node::Make(*machine, config);
  ASSERT_TRUE(node) << node.error().message;
  FakeNode fresh(*node);
  Pod pod = MakePod("web", "1");
  pod.containers.front().resources.limits["memory"] = *Quantity::Parse("1Gi");
  pod.containers.front().resources.requests["memory"] = *Quantity::Parse("1Gi");
  Container init = pod.containers.front();
  init.name = "prepare";
  init.resources.limits["memory"] = *Quantity::Parse("2Gi");
  init.resources.requests["memory"] = *Quantity::Parse("2Gi");
  pod.init_containers.push_back(init);
  const auto booked = [&] {
    Bytes sum{0};
    for (const auto& [id, state] : fresh.store.saved->ledger.memory) sum += state.types.find("memory")->second.reserved;
    return sum;
  };
  auto manager = fresh.Boot();
  ASSERT_TRUE(manager->Start(std::nullopt, fresh.clock.Now()));
  manager->OnSnapshot(Wanting({pod}), fresh.clock.Now());
  ASSERT_TRUE(fresh.runtime.Runs("uid-web", "prepare"));
  EXPECT_EQ(booked(), MiB(2048));
  fresh.runtime.Exit("uid-web_prepare_0", 0);
  manager->OnRuntime(fresh.clock.Now());
  ASSERT_TRUE(fresh.runtime.Runs("uid-web", "web"));
  EXPECT_EQ(booked(), MiB(1024)) << "saved, too";
  const std::uint64_t writes = fresh.tree.writes();
  fresh.clock.Advance(std::chrono::seconds(1));
  manager->Tick(fresh.clock.Now());
  EXPECT_EQ(fresh.tree.writes(), writes) << "the ended one's group is left as it is";
  manager->OnSnapshot(Wanting({}), fresh.clock.Now());
  manager->OnRuntime(fresh.clock.Now());
  EXPECT_EQ(booked(), Bytes{0});
}

TEST_F(PodManagerTest, StopAllLeavesNothing) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({MakePod("back", "", QosClass::kBestEffort), MakePod("web", "2")}), Now());
  manager->StopAll(Now());
  manager->OnRuntime(Now());
  EXPECT_TRUE(manager->idle());
  EXPECT_TRUE(manager->ledger().pods.empty());
  EXPECT_EQ(manager->ledger().shared, world.node.all_cpus());
  ASSERT_TRUE(manager->groups().qos_cgroups().RemoveAll());
  EXPECT_TRUE(world.tree.Children("")->empty());
}

/// berthd dies in place of step n, for every n of a day's work; a new one takes over. The promises are checked after
/// every step, and in the end everything is as if nothing had happened.
TEST_F(PodManagerTest, DyingAtAnyStepLosesNothing) {
  const Pod back = MakePod("back", "", QosClass::kBestEffort);
  const Pod web = MakePod("web", "2");
  const Pod other = MakePod("other", "1");
  const std::vector<std::vector<Pod>> day = {{back}, {back, web}, {back, web, other}, {back, other}, {other}, {}};
  int deaths = 0;
  for (int n = 0;; ++n) {
    FakeNode fresh(MakeNode());
    const int deaths_before = deaths;
    bool died = false;
    std::unique_ptr<TestManager> manager = fresh.MakeManager();
    fresh.steps.DieAt(n);
    try {
      ASSERT_TRUE(manager->Start(std::nullopt, fresh.clock.Now()));
    } catch (const Died&) {
      died = true;
    }
    for (const std::vector<Pod>& wanted : day) {
      try {
        if (!died) {
          manager->OnSnapshot(Wanting(wanted), fresh.clock.Now());
          manager->OnRuntime(fresh.clock.Now());
        }
      } catch (const Died&) {
        died = true;
      }
      if (!died) continue;
      ++deaths;
      died = false;
      manager = fresh.Boot();
      ASSERT_TRUE(manager->Start(fresh.store.saved, fresh.clock.Now()));
      manager->OnSnapshot(Wanting(wanted), fresh.clock.Now());
      manager->OnRuntime(fresh.clock.Now());
      for (const Pod& pod : wanted) EXPECT_TRUE(fresh.runtime.Runs(pod.uid, pod.name)) << n << " " << pod.name;
      EXPECT_EQ(manager->ledger().pods.size(), wanted.size()) << n;
    }
    fresh.clock.Advance(std::chrono::seconds(11));  // what a death left half done is swept by the next reconcile
    manager->Sync(fresh.clock.Now());
    EXPECT_EQ(manager->ledger().shared, fresh.node.all_cpus()) << n;
    EXPECT_TRUE(manager->ledger().pods.empty()) << n;
    EXPECT_TRUE(fresh.runtime.containers.empty()) << n;
    if (deaths == deaths_before) break;  // it lived through the whole day
  }
  EXPECT_GT(deaths, 20);
}

}  // namespace
}  // namespace berth::daemon
