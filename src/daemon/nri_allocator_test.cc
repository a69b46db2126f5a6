// The NRI agent on a node in memory: what a runtime asks, told and answered without one.
#include "frontend/nri_agent/nri_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <iostream>

#include "daemon/nri_allocator_node_test.h"
#include "daemon/snapshot_builder.h"
#include "node/checkpoint/kubelet_files.h"

namespace berth::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testkit::Cpus;

TEST_F(NriAllocatorTest, OthersHaveMovedBeforeTheAnswerThatGivesCpusAway) {
  Boot();
  const nri::Pod web = MakePod("web", "burstable");
  const nri::Container shared = Run(web, "app", 0);
  const nri::Pod db = MakePod("db", "");
  const auto created = Create(db, ContainerIn(db, "app", 2000));
  ASSERT_TRUE(created);
  EXPECT_EQ(created->adjustment.resources.cpus, "1-2");
  EXPECT_EQ(CpusOf(web, shared), Cpus("0,3-7"));
  EXPECT_THAT(created->updates, IsEmpty());
  ASSERT_TRUE(host.store.saved);
  EXPECT_TRUE(host.store.saved->ledger.pods.contains("uid-db"));
}

/// A runtime asks under one lock: everybody waits for an answer.
TEST_F(NriAllocatorTest, AnAnswerThatGivesCpusAwayWaitsForOneWriteForEachContainerAndForNoLook) {
  Boot();
  std::vector<std::pair<nri::Pod, nri::Container>> others;
  for (const char* const name : {"a", "b", "c", "d"}) {
    const nri::Pod pod = MakePod(name, "burstable");
    others.emplace_back(pod, Run(pod, "app", 0));
  }
  Settle();
  const nri::Pod db = MakePod("db", "");
  const nri::Container own = ContainerIn(db, "app", 2000);
  const std::uint64_t writes = host.tree.writes();
  const int looks = host.tree.looks;
  ASSERT_TRUE(Create(db, own));
  EXPECT_EQ(others.size(), host.tree.writes() - writes);
  EXPECT_EQ(looks, host.tree.looks);
  for (const auto& [pod, container] : others) EXPECT_EQ(CpusOf(pod, container), Cpus("0,3-7"));
  // Sandboxes, in which nothing runs, have moved too before it does.
  ASSERT_TRUE(Start(db, own));
  for (const auto& [pod, container] : others)
    EXPECT_EQ(host.tree.Read(PathOf(pod) + "/" + pod.id)->cpus, Cpus("0,3-7"));
  EXPECT_EQ(host.tree.Read(PathOf(db) + "/" + db.id)->cpus, Cpus("0,3-7"));
  Settle();
  EXPECT_EQ(0, CountEvents("CgroupRepaired"));
}

TEST_F(NriAllocatorTest, OthersMoveWhileTheRecordIsOnItsWayToTheDisk) {
  Boot();
  const nri::Pod web = MakePod("web", "burstable");
  const nri::Container shared = Run(web, "app", 0);
  Settle();
  const nri::Pod db = MakePod("db", "");
  const auto answer = Asked<nri::Creation>();
  agent->Create(db, ContainerIn(db, "app", 2000), answer);
  EXPECT_EQ(CpusOf(web, shared), Cpus("0,3-7"));
  host.clock.Advance(os::Millis(5'000));
  manager->bare().Tick(host.clock.Now());  // a look at all cpusets takes them for nobody's doing
  EXPECT_EQ(CpusOf(web, shared), Cpus("0,3-7"));
  const std::uint64_t writes = host.tree.writes();
  manager->executor().RunAll();
  EXPECT_EQ(host.tree.writes(), writes);
  EXPECT_TRUE(answer.Wait());
  Settle();
  EXPECT_EQ(0, CountEvents("CgroupRepaired"));
}

TEST_F(NriAllocatorTest, WhoHasItsCpusAlreadyStartsWhileSomebodyElsesRecordIsOnItsWay) {
  Boot();
  const nri::Pod web = MakePod("web", "burstable");
  Run(web, "app", 0);
  const nri::Pod first = MakePod("first", "");
  const nri::Container own = ContainerIn(first, "app", 2000);
  ASSERT_TRUE(Create(first, own));
  Settle();
  const nri::Pod db = MakePod("db", "");
  agent->Create(db, ContainerIn(db, "app", 2000), Asked<nri::Creation>());
  const auto answer = Asked<nri::Ready>();
  agent->Start(first, own, answer);
  const auto started = answer.Wait();
  ASSERT_TRUE(started);
  EXPECT_TRUE(*started) << started->error().message;
}

/// A runtime that was killed has left its making to a program that goes on.
TEST_F(NriAllocatorTest, WhatIsWrittenToAGroupBeforeItsContainerStartsIsNobodysMistake) {
  Boot();
  const nri::Pod web = MakePod("web", "burstable");
  const nri::Container shared = Run(web, "app", 0);
  const nri::Pod db = MakePod("db", "");
  const nri::Container own = ContainerIn(db, "app", 2000);
  ASSERT_TRUE(Create(db, own));
  agent->Left("killed");
  agent->Synchronize({.pods = {web, db}, .containers = {shared}});
  Settle();
  host.tree.ForeignWrite(PathOf(db) + "/" + own.id, Cpus("0-7"));
  host.clock.Advance(os::Millis(5'000));
  Settle();
  EXPECT_EQ(0, CountEvents("CgroupRepaired"));
  ASSERT_TRUE(Start(db, own));
  EXPECT_EQ(CpusOf(db, own), Cpus("1-2"));
  EXPECT_EQ(CpusOf(web, shared), Cpus("0,3-7"));
}

TEST_F(NriAllocatorTest, WhoComesWhileNoRuntimeAsksIsKeptOffOthersCpusAtOnce) {
  Boot();
  const nri::Pod db = MakePod("db", "");
  const nri::Container own = Run(db, "app", 2000);
  const nri::Container made = ContainerIn(db, "more", 1000);  // and not started
  ASSERT_TRUE(Create(db, made));
  Settle();
  agent->Joined({});
  agent->Synchronize({.pods = {db}, .containers = {own, made}});
  Settle();
  EXPECT_EQ(std::nullopt, new_groups->all_known());
  agent->Left("killed");
  EXPECT_EQ(std::optional(true), new_groups->all_known());
  const nri::Pod late = MakePod("late", "burstable");
  for (const std::string& path : {PathOf(late) + "/" + late.id, PathOf(db) + "/" + made.id}) {
    host.tree.ForeignWrite(path, Cpus("0-7"));
    agent->Confine(path);
  }
  EXPECT_EQ(host.tree.Read(PathOf(late) + "/" + late.id)->cpus, Cpus("0,4-7"));
  EXPECT_EQ(CpusOf(db, made), Cpus("3")) << "it was told its place";
  const std::uint64_t writes = host.tree.writes();
  agent->Confine(PathOf(late) + "/" + late.id);
  agent->Confine("kubepods/poduid-gone/c");
  EXPECT_EQ(writes, host.tree.writes());
  agent->Joined({});
  agent->Synchronize({.pods = {db, late}, .containers = {own, made}});
  EXPECT_EQ(std::optional(true), new_groups->all_known()) << "it has not been looked at what there is";
  Settle();
  EXPECT_EQ(std::nullopt, new_groups->all_known());
  EXPECT_EQ(CpusOf(db, own), Cpus("1-2"));
}

TEST_F(NriAllocatorTest, NobodyIsGivenCpusOfHisOwnWhileNoRuntimeAsks) {
  Boot({.share_unplaced = true});
  const nri::Pod db = MakePod("db", "");
  const nri::Container own = Run(db, "app", 4000);
  const nri::Pod big = MakePod("big", "");
  const nri::Container waits = Run(big, "app", 5000);
  agent->Joined({});
  agent->Stop(db, own);
  Settle();
  EXPECT_EQ(CpusOf(big, waits), Cpus("0,5-7"));
  agent->Left("killed");
  const nri::Pod late = MakePod("late", "burstable");
  const std::string path = PathOf(late) + "/" + late.id;
  for (const std::string& group : {PathOf(db) + "/" + own.id, PathOf(db) + "/" + db.id}) host.tree.stuck.erase(group);
  host.clock.Advance(os::Millis(10'000));
  Settle();
  EXPECT_EQ(1, CountEvents("Released"));
  host.tree.ForeignWrite(path, Cpus("0-7"));
  agent->Confine(path);
  Settle();
  EXPECT_EQ(CpusOf(big, waits), Cpus("0-7"));
  EXPECT_NE(os::MonoTime(), agent->next_due()) << "nothing is to be done at once";
  agent->Joined({});
  Settle();
  EXPECT_EQ(CpusOf(big, waits), Cpus("0-7")) << "it has not been said yet what there is";
  agent->Synchronize({.pods = {big, late}, .containers = {waits}});
  Settle();
  EXPECT_EQ(CpusOf(big, waits), Cpus("1-5"));
  EXPECT_EQ(host.tree.Read(path)->cpus, Cpus("0,6-7"));
}

TEST_F(NriAllocatorTest, WhoComesIsKeptOffCpusThatAreJustBeingGivenAway) {
  Boot();
  const nri::Pod db = MakePod("db", "");
  agent->Create(db, ContainerIn(db, "app", 2000), Asked<nri::Creation>());
  agent->Left("killed");
  const nri::Pod late = MakePod("late", "burstable");
  const std::string path = PathOf(late) + "/" + late.id;
  host.tree.ForeignWrite(path, Cpus("0-7"));
  agent->Confine(path);
  EXPECT_EQ(host.tree.Read(path)->cpus, Cpus("0,3-7"));
  manager->executor().RunAll();
}

/// The runtime's record of it is as old as its making.
TEST_F(NriAllocatorTest, WhoWasPlacedLateIsNotToldOfAtTheNextJoin) {
  Boot();
  const nri::Pod db = MakePod("db", "");
  nri::Container own = ContainerIn(db, "app", 2000);
  own.state = nri::ContainerState::kRunning;
  MakeGroup(PathOf(db) + "/" + own.id);
  for (int join = 0; join < 3; ++join) {
    agent->Joined({});
    agent->Synchronize({.pods = {db}, .containers = {own}});
    Settle();
    EXPECT_EQ(CpusOf(db, own), Cpus("1-2"));
    agent->Left("killed");
  }
  EXPECT_EQ(1U, CountTold("PlacedLate"));
  host.tree.ForeignWrite(PathOf(db) + "/" + own.id, Cpus("0,3-7"));
  agent->Synchronize({.pods = {db}, .containers = {own}});
  Settle();
  EXPECT_EQ(2U, CountTold("PlacedLate")) << "it was made anew without its CPUs";
}

TEST_F(NriAllocatorTest, WhoRunsUnplacedIsToldOfOnceAndNotAtEachJoin) {
  Boot();
  const nri::Pod db = MakePod("db", "");
  nri::Container own = ContainerIn(db, "app", 9000);
  own.state = nri::ContainerState::kRunning;
  MakeGroup(PathOf(db) + "/" + own.id);
  for (int join = 0; join < 3; ++join) {
    agent->Synchronize({.pods = {db}, .containers = {own}});
    Settle();
  }
  EXPECT_EQ(1U, CountTold("UnexpectedAdmissionError"));
}

/// A runtime that was killed does not say that the sandbox has stopped.
TEST_F(NriAllocatorTest, CpusComeBackSoonAfterTheLastContainerOfAPodThatIsNotSaidToHaveGone) {
  Boot();
  const nri::Pod web = MakePod("web", "burstable");
  const nri::Container shared = Run(web, "app", 0);
  const nri::Pod db = MakePod("db", "");
  const nri::Container own = Run(db, "app", 2000);
  Settle();
  agent->Stop(db, own);
  host.tree.stuck.erase(PathOf(db) + "/" + own.id);
  Settle();
  EXPECT_EQ(CpusOf(web, shared), Cpus("0,3-7")) << "its sandbox is there, it may be started again";
  host.tree.stuck.erase(PathOf(db) + "/" + db.id);
  host.clock.Advance(os::Millis(100));
  Settle();
  EXPECT_EQ(CpusOf(web, shared), Cpus("0-7"));
  EXPECT_EQ(1, CountEvents("Released"));
}

/// Each of those looks wakes the loop.
TEST_F(NriAllocatorTest, AfterAContainersEndThePodIsLookedAtAgainOnlyIfThatWasItsLast) {
  Boot();
  const nri::Pod db = MakePod("db", "");
  const nri::Container one = Run(db, "one", 1000);
  const nri::Container other = Run(db, "other", 1000);
  Settle();
  const os::MonoTime usual = agent->next_due();
  agent->Stop(db, one);
  Settle();
  EXPECT_EQ(usual, agent->next_due());
  agent->Stop(db, other);
  Settle();
  EXPECT_GT(usual, agent->next_due());
  for (const std::string& id : {one.id, other.id, db.id}) host.tree.stuck.erase(PathOf(db) + "/" + id);
  host.clock.Advance(os::Millis(100));
  Settle();
  EXPECT_EQ(1, CountEvents("Released"));
}

TEST_F(NriAllocatorTest, AContainerWithCpusOfItsOwnIsNotGivenMoreWhileItRuns) {
  Boot();
  const nri::Pod db = MakePod("db", "");
  const nri::Container own = Run(db, "app", 1000);
  const auto update = [&](const nri::Pod& pod, const nri::Container& container, const nri::Resources& wanted) {
    const auto answer = Asked<std::vector<nri::Update>>();
    agent->Update(pod, container, wanted, answer);
    return *answer.Wait();
  };
  const auto refused = update(db, own, {.cpu_shares = 2048, .cpu_quota = 200'000, .cpu_period = 100'000});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("has CPUs 1 for itself, and does not get 2000 thousandths"));
  EXPECT_EQ(1, CountEvents("ResizeRefused", "delete the pod"));
  EXPECT_TRUE(update(db, own, {.cpu_shares = 1024, .cpu_quota = 100'000, .cpu_period = 100'000}));
  EXPECT_TRUE(update(db, own, {.memory_limit = 64 << 20}));
  const nri::Pod web = MakePod("web", "burstable");
  EXPECT_TRUE(update(web, Run(web, "app", 500), {.cpu_quota = 200'000}));
  EXPECT_EQ(1, CountEvents("ResizeRefused"));
}

/// A kubelet tries to make it until that works, and restarts it; admitted it is once.
TEST_F(NriAllocatorTest, AContainerIsOneAdmissionHoweverOftenItIsDecidedOn) {
  Boot();
  const nri::Pod web = MakePod("web", "burstable");
  nri::Container container = Run(web, "app", 0);
  agent->Stop(web, container);
  container.id += "-again";
  ASSERT_TRUE(Create(web, container));
  const nri::Pod db = MakePod("db", "");
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(Create(db, ContainerIn(db, "app", 9000)));
  EXPECT_EQ(2U, manager->core().allocations().decisions().admissions.tried);
}

TEST_F(NriAllocatorTest, APodThatWasRefusedIsKnownToTheNextBerthdWithItsReason) {
  const testkit::TempDir checkpoints;
  host.options.pods.checkpoints = checkpoints.path();
  Boot();
  const nri::Pod db = MakePod("db", "");
  agent->Happened(nri::Event::kRunPod, db, std::nullopt);
  ASSERT_FALSE(Create(db, ContainerIn(db, "app", 9000)));
  agent.reset();
  manager.reset();
  Boot();
  agent->Synchronize({.pods = {db}, .containers = {}});
  Settle();
  EXPECT_EQ("UnexpectedAdmissionError", manager->core().pods().at(db.uid).why().reason);
  ASSERT_TRUE(Create(db, ContainerIn(db, "app", 1000)));
  EXPECT_EQ("", manager->core().pods().at(db.uid).why().reason);
  EXPECT_TRUE(std::filesystem::is_empty(checkpoints.path()));
}

TEST_F(NriAllocatorTest, APodKeepsItsReasonUntilNoneOfItsContainersIsWithoutItsPlace) {
  Boot({.share_unplaced = true});
  const nri::Pod db = MakePod("db", "");
  const auto reason = [&] { return manager->core().pods().at(db.uid).why().reason; };
  Run(db, "big", 9000);
  EXPECT_EQ("UnexpectedAdmissionError", reason());
  const nri::Container app = Run(db, "app", 1000);
  EXPECT_EQ(CpusOf(db, app), Cpus("1"));
  EXPECT_EQ("UnexpectedAdmissionError", reason()) << "the big one runs in the shared pool still";
  nri::Container smaller = ContainerIn(db, "big", 1000);
  smaller.id += "-again";
  ASSERT_TRUE(Create(db, smaller));
  EXPECT_EQ("", reason());
}

TEST_F(NriAllocatorTest, AContainerThatHasEndedIsWithoutItsPlaceNoLonger) {
  Boot({.share_unplaced = true});
  const nri::Pod db = MakePod("db", "");
  const nri::Container setup = Run(db, "setup", 9000);
  agent->Stop(db, setup);
  Run(db, "app", 1000);
  EXPECT_EQ("", manager->core().pods().at(db.uid).why().reason);
}

TEST_F(NriAllocatorTest, APodThatWasRefusedOnceAndRunsIsNotShownAsRefused) {
  const testkit::TempDir checkpoints;
  host.options.pods.checkpoints = checkpoints.path();
  Boot();
  const nri::Pod db = MakePod("db", "");
  agent->Happened(nri::Event::kRunPod, db, std::nullopt);
  ASSERT_FALSE(Create(db, ContainerIn(db, "app", 9000)));
  nri::Container runs = ContainerIn(db, "app", 1000);  // made while berthd was away
  runs.state = nri::ContainerState::kRunning;
  MakeGroup(PathOf(db) + "/" + runs.id);
  for (const bool refused_again : {false, true}) {
    if (refused_again) {  // by words of an earlier berthd only: it has its place
      pods::PodCheckpoint life;
      life.evicted = pods::Why{.reason = "UnexpectedAdmissionError"};
      ASSERT_TRUE(manager->core().checkpoints().Keep(db.uid, life));
    }
    agent.reset();
    manager.reset();
    Boot();
    agent->Synchronize({.pods = {db}, .containers = {runs}});
    Settle();
    EXPECT_EQ("", manager->core().pods().at(db.uid).why().reason) << refused_again;
    EXPECT_TRUE(std::filesystem::is_empty(checkpoints.path())) << refused_again;
  }
}

TEST_F(NriAllocatorTest, OthersHaveTheirCpusBackWhereTheRecordDoesNotGetToTheDisk) {
  Boot();
  const nri::Pod web = MakePod("web", "burstable");
  const nri::Container shared = Run(web, "app", 0);
  Settle();
  host.store.full = true;
  const nri::Pod db = MakePod("db", "");
  ASSERT_FALSE(Create(db, ContainerIn(db, "app", 2000)));
  EXPECT_EQ(CpusOf(web, shared), Cpus("0,3-7"));
  Settle();
  EXPECT_EQ(CpusOf(web, shared), Cpus("0-7"));
  EXPECT_EQ(0, CountEvents("CgroupRepaired"));
}

TEST_F(NriAllocatorTest, WhereSomebodyHasGroupsBelowAContainerItHasMovedBeforeTheAnswerToo) {
  Boot();
  const nri::Pod web = MakePod("web", "burstable");
  const nri::Container shared = Run(web, "app", 0);
  host.tree.refuse_narrowing = true;
  const nri::Pod db = MakePod("db", "");
  ASSERT_TRUE(Create(db, ContainerIn(db, "app", 2000)));
  EXPECT_EQ(CpusOf(web, shared), Cpus("0,3-7"));
}

TEST_F(NriAllocatorTest, WhoHasGotCpusInAChangeThatIsNotOverGivesThemUpBeforeTheAnswerToo) {
  Boot();
  const nri::Pod web = MakePod("web", "burstable");
  const nri::Container shared = Run(web, "app", 0);
  const nri::Pod first = MakePod("first", "");
  const nri::Container own = Run(first, "app", 2000);
  Settle();
  EXPECT_EQ(CpusOf(web, shared), Cpus("0,3-7"));
  // The first leaves; others have grown in part when the next one asks.
  agent->Happened(nri::Event::kStopPod, first, std::nullopt);
  host.tree.stuck.erase(PathOf(first) + "/" + own.id);
  host.tree.stuck.erase(PathOf(first) + "/" + first.id);
  agent->Tick(host.clock.Now());
  manager->executor().RunAll();
  const os::Slice over(host.clock, host.clock.Now());
  while (CpusOf(web, shared) != Cpus("0-7")) ASSERT_FALSE(manager->core().pool().Apply(host.clock.Now(), over));
  const nri::Pod db = MakePod("db", "");
  ASSERT_TRUE(Create(db, ContainerIn(db, "app", 2000)));
  EXPECT_EQ(CpusOf(web, shared), Cpus("0,3-7"));
}

TEST_F(NriAllocatorTest, WithoutALedgerOnDiskNobodyHasCpusOfHisOwn) {
  Boot();
  host.store.full = true;
  const nri::Pod db = MakePod("db", "");
  const auto refused = Create(db, ContainerIn(db, "app", 2000));
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("LedgerNotSaved"));
  const nri::Pod web = MakePod("web", "burstable");
  EXPECT_TRUE(Create(web, ContainerIn(web, "app", 0)));
}

TEST_F(NriAllocatorTest, AContainerThatWantsToShareHasNoCpusOfItsOwn) {
  Boot();
  nri::Pod pod = MakePod("db", "");
  pod.annotations = {{"prefer-shared-cpus.resource-policy.nri.io/container.side", "true"},
                     {"balloon.balloons.resource-policy.nri.io/pod", "fast"}};
  const nri::Container side = Run(pod, "side", 1000);
  const nri::Container app = Run(pod, "app", 1000);
  EXPECT_EQ(CpusOf(pod, app), Cpus("1"));
  EXPECT_EQ(CpusOf(pod, side), Cpus("0,2-7"));
  EXPECT_EQ(CountEvents("AnnotationIgnored", "container app: balloon.balloons"), 1);
  Settle();
  EXPECT_EQ(manager->ledger().pods.at("uid-db").qos, QosClass::kGuaranteed);
}

TEST_F(NriAllocatorTest, AnAnnotationThatLooksLikeOurOwnIsToldOnceForAPod) {
  Boot();
  nri::Pod pod = MakePod("db", "");
  pod.annotations = {{"berth.dev/cpu", "shared"}, {"berth.dev/something", "x"}, {"berth.dev/keep-cpus", "app=1"}};
  Run(pod, "side", 1000);
  Run(pod, "app", 1000);
  EXPECT_EQ(
      CountEvents("AnnotationIgnored", "berth.dev/cpu: unknown annotation, ignored; did you mean \"berth.dev/cpus\"?"),
      1);
  EXPECT_EQ(CountEvents("AnnotationIgnored", "berth.dev/something: unknown annotation, ignored"), 1);
  EXPECT_EQ(CountTold("AnnotationIgnored"), 2U);
}

TEST_F(NriAllocatorTest, OfManyAnnotationsWithoutEffectTenAreToldAndHowManyMore) {
  Boot();
  nri::Pod pod = MakePod("db", "");
  for (int i = 0; i < 500; ++i) {
    pod.annotations.emplace("berth.dev/x" + std::to_string(i), "");
    pod.annotations.emplace("x" + std::to_string(i) + ".resource-policy.nri.io", "true");
  }
  Run(pod, "app", 1000);
  EXPECT_EQ(CountEvents("AnnotationIgnored", ": unknown annotation, ignored"), 10);
  EXPECT_EQ(CountEvents("AnnotationIgnored", ": nothing here is told by it"), 10);
  EXPECT_EQ(CountEvents("AnnotationIgnored", "and 490 more annotations have no effect"), 2);
  EXPECT_EQ(CountEvents("AnnotationIgnored", "container app: and 490 more"), 1);
  EXPECT_EQ(CountTold("AnnotationIgnored"), 22U);
}

/// A node whose pods an API server tells of.
struct NriAllocatorSpecifiedTest : NriAllocatorTest {
  void SetUp() override {
    Boot({.endpoint = "", .kubelet_dir = "", .spec_patience = os::Millis(250)});
    agent->FollowsSpecs(true);
  }
  void Ask(const nri::Pod& pod, const nri::Container& container) {
    agent->Create(pod, container, Asked<nri::Creation>());
    manager->executor().RunAll();
  }
};

/// Without the spec it would be taken for an init container.
TEST_F(NriAllocatorSpecifiedTest, AContainerThatEndsBeforeTheNextIsMadeKeepsItsCpus) {
  const nri::Pod pod = MakePod("own", "");
  agent->SetSpec(SpecOf(pod, {}, {ContainerOf("job", 2), ContainerOf("app", 2)}));
  const nri::Container job = Run(pod, "job", 2000);
  agent->Stop(pod, job);
  const nri::Container app = Run(pod, "app", 2000);
  EXPECT_EQ(Cpus("1-2"), CpusOf(pod, job));
  EXPECT_EQ(Cpus("3-4"), CpusOf(pod, app));
}

TEST_F(NriAllocatorSpecifiedTest, AnInitContainerLeavesItsCpusToTheNextAndASidecarDoesNot) {
  const nri::Pod pod = MakePod("own", "");
  std::vector<Container> init = {ContainerOf("setup", 2), ContainerOf("proxy", 1)};
  init[1].restartable_init = true;
  agent->SetSpec(SpecOf(pod, init, {ContainerOf("app", 2)}));
  const nri::Container setup = Run(pod, "setup", 2000);
  agent->Stop(pod, setup);
  const nri::Container proxy = Run(pod, "proxy", 1000);
  const nri::Container app = Run(pod, "app", 2000);
  EXPECT_EQ(Cpus("1-2"), CpusOf(pod, setup));
  EXPECT_EQ(Cpus("1"), CpusOf(pod, proxy));
  EXPECT_FALSE(CpusOf(pod, app).Intersects(CpusOf(pod, proxy)));
  EXPECT_EQ(3, (CpusOf(pod, app) | CpusOf(pod, proxy)).Count());
}

TEST_F(NriAllocatorSpecifiedTest, RequestsAreTheSpecsAndNotWhatTheRuntimeShows) {
  const nri::Pod pod = MakePod("part", "burstable");
  Container app = ContainerOf("app", 1);
  app.resources.limits.clear();
  app.resources.requests["vendor.com/gpu"] = Quantity::FromMilli(1000);
  agent->SetSpec(SpecOf(pod, {}, {app}));
  Run(pod, "app", 700);
  EXPECT_TRUE(manager->core().pods().at(pod.uid).reported.spec);
  const ResourceList& requests = manager->core().pods().at(pod.uid).pod.containers[0].resources.requests;
  EXPECT_EQ((ResourceList{{"cpu", Quantity::FromMilli(1000)}, {"memory", Quantity::FromBytes({64 << 20})}}), requests);
}

TEST_F(NriAllocatorSpecifiedTest, APodWhoseSpecComesLateIsShownWithTheSpecsRequests) {
  agent->FollowsSpecs(false);
  const nri::Pod pod = MakePod("part", "burstable");
  Run(pod, "app", 700);
  const auto shown = [this] {
    const auto state = SnapshotBuilder(manager->bare(), host.events, DaemonFacts()).Build();
    return state && state->node.pods.size() == 1U ? *state->node.pods[0].view : PodView();
  };
  EXPECT_EQ(RequestsFrom::kRuntime, shown().requests_from);
  EXPECT_EQ(Quantity::FromMilli(700), shown().requests["cpu"]);
  Pod spec = SpecOf(pod, {}, {ContainerOf("app", 1)});
  spec.overhead["cpu"] = Quantity::FromMilli(100);
  agent->SetSpec(spec);
  EXPECT_EQ(RequestsFrom::kApiServer, shown().requests_from);
  EXPECT_EQ(Quantity::FromMilli(1100), shown().requests["cpu"]);
  EXPECT_EQ(Quantity::FromMilli(700), manager->ledger().pods.at(pod.uid).requests.at("cpu"))
      << "it is as it was decided";
  agent->Happened(nri::Event::kRunPod, pod, std::nullopt);
  EXPECT_EQ(Quantity::FromMilli(1100), shown().requests["cpu"]) << "in another sandbox it is the same pod";
}

TEST_F(NriAllocatorSpecifiedTest, ThePodsFirstContainerWaitsForItsSpec) {
  const nri::Pod pod = MakePod("own", "");
  agent->Happened(nri::Event::kRunPod, pod, std::nullopt);
  Ask(pod, ContainerIn(pod, "app", 2000));
  EXPECT_EQ(0U, Answers());
  EXPECT_LE(agent->next_due(), host.clock.Now() + os::Millis(250));
  agent->SetSpec(SpecOf(pod, {}, {ContainerOf("app", 2)}));
  manager->executor().RunAll();
  EXPECT_EQ(1U, Answers());
  EXPECT_EQ(0, CountEvents("PodSpecUnknown"));
}

TEST_F(NriAllocatorSpecifiedTest, APodThatNobodyTellsOfIsWaitedForOnceAndTakenAsTheRuntimeShowsIt) {
  const nri::Pod pod = MakePod("own", "");
  agent->Happened(nri::Event::kRunPod, pod, std::nullopt);
  Ask(pod, ContainerIn(pod, "app", 2000));
  EXPECT_EQ(0U, Answers());
  host.clock.Advance(os::Millis(250));
  Settle();
  EXPECT_EQ(1U, Answers());
  EXPECT_EQ(1, CountEvents("PodSpecUnknown", "within 250 ms"));
  Ask(pod, ContainerIn(pod, "more", 1000));
  EXPECT_EQ(2U, Answers());
  EXPECT_EQ(1, CountEvents("PodSpecUnknown"));
}

TEST_F(NriAllocatorSpecifiedTest, NobodyWaitsForAServerThatCannotBeFollowed) {
  const nri::Pod pod = MakePod("own", "");
  Ask(pod, ContainerIn(pod, "app", 2000));
  EXPECT_EQ(0U, Answers());
  agent->FollowsSpecs(false);
  manager->executor().RunAll();
  EXPECT_EQ(1U, Answers());
  const nri::Pod other = MakePod("other", "");
  Ask(other, ContainerIn(other, "app", 1000));
  EXPECT_EQ(2U, Answers());
  EXPECT_EQ(0, CountEvents("PodSpecUnknown"));
}

TEST_F(NriAllocatorSpecifiedTest, APodWhoseSpecHasGoneStaysAsItWasKnown) {
  const nri::Pod pod = MakePod("own", "");
  agent->SetSpec(SpecOf(pod, {}, {ContainerOf("job", 2), ContainerOf("app", 2)}));
  const nri::Container job = Run(pod, "job", 2000);
  agent->ForgetSpec(pod.name_space, pod.name);
  agent->Stop(pod, job);
  const nri::Container app = Run(pod, "app", 2000);
  EXPECT_EQ(Cpus("3-4"), CpusOf(pod, app));
  Run(pod, "debugger", 0);
  EXPECT_EQ(3U, manager->core().pods().at(pod.uid).pod.containers.size());
}

/// What is there before berthd is looked at with what the server says, but not for ever without it.
TEST_F(NriAllocatorTest, WhatARuntimeHasIsLookedAtWhenSpecsAreKnownOrHalfASecondLater) {
  Boot({.endpoint = "", .kubelet_dir = "", .spec_patience = os::Millis(250)});
  const nri::Pod pod = MakePod("own", "");
  nri::Container container = ContainerIn(pod, "app", 2000);
  container.state = nri::ContainerState::kRunning;
  MakeGroup(PathOf(pod) + "/" + container.id);
  agent->Synchronize({.pods = {pod}, .containers = {container}});
  Settle();
  EXPECT_EQ(0, CountEvents("PlacedLate"));
  EXPECT_EQ(host.clock.Now() + os::Millis(500), agent->next_due());
  host.clock.Advance(os::Millis(500));
  Settle();
  EXPECT_EQ(1, CountEvents("PlacedLate")) << "the server has said nothing";
}

TEST_F(NriAllocatorTest, ItIsReadyWhenARuntimeHasTakenItInAndWhatThatHadIsLookedAt) {
  Boot({.endpoint = "/nri.sock"});
  EXPECT_FALSE(agent->Started());
  EXPECT_THAT(agent->NotReady(), ElementsAre(HasSubstr("at /nri.sock; is NRI switched on there?")));
  host.clock.Advance(os::Millis(5'000));
  Settle();
  EXPECT_TRUE(agent->Started()) << "nobody comes";
  agent->Joined({});
  EXPECT_FALSE(agent->Started());
  const nri::Pod pod = MakePod("own", "");
  nri::Container container = ContainerIn(pod, "app", 2000);
  container.state = nri::ContainerState::kRunning;
  MakeGroup(PathOf(pod) + "/" + container.id);
  agent->Synchronize({.pods = {pod}, .containers = {container}});
  EXPECT_FALSE(agent->Started());
  EXPECT_THAT(agent->NotReady(), ElementsAre(HasSubstr("still looked at")));
  Settle();
  EXPECT_TRUE(agent->Started());
  EXPECT_THAT(agent->NotReady(), IsEmpty());
  agent->Left("it was killed");
  EXPECT_TRUE(agent->Started());
  EXPECT_THAT(agent->NotReady(), ElementsAre(HasSubstr("no runtime")));
}

TEST_F(NriAllocatorTest, AContainerThatTheRuntimeDropsBeforeItsStartIsToldOf) {
  Boot();
  const nri::Pod pod = MakePod("own", "");
  const nri::Container app = ContainerIn(pod, "app", 2000);
  ASSERT_TRUE(Create(pod, app));
  agent->Stop(pod, app);
  EXPECT_EQ(1, CountEvents("ContainerNotMade", "container app was told its place"));
  EXPECT_THAT(agent->Warnings(), ElementsAre(HasSubstr("(1 times, last: container app of default/own)")));
  const nri::Container other = Run(pod, "other", 2000);
  agent->Stop(pod, other);
  EXPECT_EQ(1, CountEvents("ContainerNotMade"));
}

TEST_F(NriAllocatorTest, WhoeverWantsAnotherPlaceForAContainerIsNamedInTheWarnings) {
  Boot();
  const nri::Pod pod = MakePod("db", "");
  const nri::Container app = Run(pod, "app", 1000);
  const auto answer = Asked<std::vector<nri::Update>>();
  agent->Update(pod, app, {.cpus = "5"}, answer);
  const auto given = answer.Wait();
  ASSERT_TRUE(given && *given && (*given)->size() == 1U);
  EXPECT_EQ((**given)[0].resources.cpus, "1");
  EXPECT_THAT(agent->Warnings(), ElementsAre(HasSubstr("container app of default/db on CPUs 5")));
}

struct NriAllocatorContestedTest : NriAllocatorTest {
  void LookAgain() {
    host.clock.Advance(std::chrono::seconds(11));
    Settle();
  }
};

TEST_F(NriAllocatorContestedTest, AKubeletThatPlacesContainersIsToldOfWithTheCure) {
  WriteState("static");
  Boot({.kubelet_dir = folder.path()});
  EXPECT_EQ(CountEvents("KubeletPlaces", "set its cpuManagerPolicy to none"), 1);
  const nri::Pod db = MakePod("db", "");
  EXPECT_EQ(CpusOf(db, Run(db, "app", 1000)), Cpus("1")) << "it goes on";
  WriteState("none");
  LookAgain();
  EXPECT_EQ(CountEvents("KubeletPlacesNoMore"), 1);
  EXPECT_THAT(agent->Warnings(), IsEmpty());
}

TEST_F(NriAllocatorContestedTest, AKubeletOfAnotherVersionIsToldOfAndDecidedAsFromTheNextStartOn) {
  const auto write_newer = [&] {
    std::ofstream(folder / "cpu_manager_state") << checkpoint::FormatKubeletState(
        checkpoint::KubeletCpuState{.version = checkpoint::KubeletCpuVersion::kV4, .policy = "none"});
  };
  write_newer();
  Boot({.kubelet_dir = folder.path()});
  WriteState("none");
  LookAgain();
  LookAgain();
  EXPECT_EQ(CountEvents("KubeletVersionChanged"), 1);
  EXPECT_EQ(CountEvents("KubeletVersionChanged", "those of 1.36 now; berthd decides as 1.37"), 1);
  EXPECT_THAT(agent->Warnings(), IsEmpty());
  write_newer();
  LookAgain();
  EXPECT_EQ(CountEvents("KubeletVersionChanged"), 1) << "that is what it decides as";
}

TEST_F(NriAllocatorContestedTest, WhereTheSettingsSaySoContainersAreLeftAloneUntilTheKubeletPlacesNoMore) {
  Boot({.step_aside = true, .kubelet_dir = folder.path()});
  const nri::Pod web = MakePod("web", "burstable");
  const nri::Container shared = Run(web, "app", 0);
  const nri::Pod db = MakePod("db", "");
  const nri::Container own = Run(db, "app", 2000);
  Settle();
  WriteState("static");
  LookAgain();
  EXPECT_THAT(agent->Warnings(), ElementsAre(HasSubstr("Berth leaves all containers alone")));
  EXPECT_THAT(manager->ledger().pods, IsEmpty());
  host.tree.ForeignWrite(PathOf(web) + "/" + shared.id, Cpus("2-5"));
  const nri::Pod next = MakePod("next", "");
  const auto created = Create(next, ContainerIn(next, "app", 2000));
  ASSERT_TRUE(created);
  EXPECT_EQ(created->adjustment.resources.cpus, "");
  Settle();
  EXPECT_EQ(CpusOf(web, shared), Cpus("2-5")) << "it is the kubelet's";
  EXPECT_EQ(joins, 0);

  WriteState("none");
  LookAgain();
  EXPECT_EQ(joins, 1) << "to be told what there is";
  nri::Container running = ContainerIn(next, "app", 2000);
  running.state = nri::ContainerState::kRunning;
  agent->Synchronize({.pods = {web, db, next}, .containers = {shared, own, running}});
  Settle();
  EXPECT_EQ(CpusOf(db, own), Cpus("1-2"));
  EXPECT_EQ(CpusOf(next, running), Cpus("3-4"));
  EXPECT_EQ(CpusOf(web, shared), Cpus("0,5-7"));
}

/// What was to be given back is no longer: the kubelet places nothing any more, and the ledger could not be saved until
/// then.
TEST_F(NriAllocatorContestedTest, PlacesThatCouldNotBeGivenBackAreKeptOnceTheKubeletPlacesNoMore) {
  Boot({.step_aside = true, .kubelet_dir = folder.path()});
  const nri::Pod db = MakePod("db", "");
  nri::Container own = Run(db, "app", 2000);
  own.state = nri::ContainerState::kRunning;
  Settle();
  host.store.full = true;
  WriteState("static");
  LookAgain();
  EXPECT_TRUE(host.store.saved->ledger.pods.contains(db.uid));
  WriteState("none");
  LookAgain();
  EXPECT_EQ(joins, 1);
  agent->Synchronize({.pods = {db}, .containers = {own}});
  host.store.full = false;
  LookAgain();
  EXPECT_TRUE(manager->ledger().pods.contains(db.uid));
  EXPECT_EQ(CpusOf(db, own), Cpus("1-2"));
}

/// A walk takes a millisecond here, and a slice has ten.
TEST_F(NriAllocatorTest, WhatARuntimeHasIsWalkedOverInSlicesAndEachPodOnce) {
  constexpr int kPods = 40;
  Boot();
  nri::Inventory all;
  for (int i = 0; i < kPods; ++i) {
    const nri::Pod pod = MakePod("p" + std::to_string(i), "burstable");
    for (const char* const name : {"a", "b", "c"}) {
      nri::Container container = ContainerIn(pod, name, 0);
      MakeGroup(PathOf(pod) + "/" + container.id);
      container.state = nri::ContainerState::kRunning;
      all.containers.push_back(container);
    }
    all.pods.push_back(pod);
  }
  host.tree.crowded = true;
  host.tree.look_takes = os::Millis(1);
  host.tree.walks = 0;
  agent->Synchronize(all);
  EXPECT_EQ(0, host.tree.walks) << "the runtime's answer waits for none";
  int slices = 0;
  for (int before = 0; host.tree.walks < kPods; before = host.tree.walks, ++slices) {
    agent->Tick(host.clock.Now());
    ASSERT_GT(host.tree.walks, before);
    EXPECT_LE(host.tree.walks - before, 12);
  }
  EXPECT_GE(slices, 4);
  host.tree.look_takes = os::Millis(0);
  while (agent->next_due() == os::MonoTime()) agent->Tick(host.clock.Now());
  manager->executor().RunAll();
  EXPECT_EQ(kPods, host.tree.walks);
  EXPECT_EQ(3 * kPods, CountEvents("PlacedLate"));
}

TEST_F(NriAllocatorTest, APodThatGoesWhileItIsLookedAtWhatThereIsHasGone) {
  Boot();
  nri::Inventory all;
  for (int i = 0; i < 80; ++i) all.pods.push_back(MakePod("p" + std::to_string(i), "burstable"));
  const nri::Pod goes = all.pods.front();
  const auto& known = manager->core().pods();
  host.tree.look_takes = os::Millis(1);
  agent->Synchronize(all);
  agent->Tick(host.clock.Now());
  ASSERT_TRUE(known.contains(goes.uid));
  host.tree.stuck.erase(PathOf(goes) + "/" + goes.id);
  host.clock.Advance(os::Millis(10'000));
  for (int i = 0; i < 3 && known.contains(goes.uid); ++i) agent->Tick(host.clock.Now());
  ASSERT_FALSE(known.contains(goes.uid));
  EXPECT_THAT(agent->NotReady(), ::testing::Contains(HasSubstr("still looked at")));
  host.tree.look_takes = os::Millis(0);
  while (agent->next_due() == os::MonoTime()) agent->Tick(host.clock.Now());
  manager->executor().RunAll();
  EXPECT_FALSE(known.contains(goes.uid));
  EXPECT_TRUE(known.contains(all.pods.back().uid));
}

/// Forty pods that run already, each of which takes a millisecond to look at.
struct LookedAtTest : NriAllocatorTest {
  using NriAllocatorTest::NriAllocatorTest;
  void BeginLook() {
    Boot();
    for (int i = 0; i < 40; ++i) {
      const nri::Pod pod = MakePod("p" + std::to_string(i), "burstable");
      all.pods.push_back(pod);
      all.containers.push_back(ContainerIn(pod, "app", 0));
      all.containers.back().state = nri::ContainerState::kRunning;
      MakeGroup(PathOf(pod) + "/" + all.containers.back().id);
    }
    host.tree.look_takes = os::Millis(1);
    agent->Synchronize(all);
    agent->Tick(host.clock.Now());
  }
  /// It was decided on all of them, and a first slice of that is in force.
  bool BecomesSaved() {
    const auto saved = [this] { return host.store.saved && host.store.saved->ledger.pods.size() == all.pods.size(); };
    for (int i = 0; i < 100 && !saved(); ++i) {
      agent->Tick(host.clock.Now());
      manager->executor().RunAll();
    }
    return saved();
  }
  std::ptrdiff_t FirstEvent(const std::string& reason) {
    const auto& events = host.events.events();
    return std::ranges::find(events, reason, &Event::reason) - events.begin();
  }
  void EndLook() {
    for (int i = 0; i < 1000 && !agent->Started(); ++i) {
      agent->Tick(host.clock.Now());
      manager->executor().RunAll();
    }
    EXPECT_TRUE(agent->Started());
  }

  nri::Inventory all;
};

TEST_F(LookedAtTest, AContainerThatSharesIsMadeAndStartedMeanwhile) {
  BeginLook();
  const nri::Pod late = MakePod("late", "burstable");
  nri::Container container = ContainerIn(late, "app", 0);
  const auto created = Create(late, container);
  ASSERT_TRUE(created);
  EXPECT_EQ(created->adjustment.resources.cpus, "0-7");
  EXPECT_TRUE(Start(late, container));
  EXPECT_FALSE(agent->Started());
  EndLook();
  EXPECT_TRUE(manager->core().pods().contains(late.uid));
  const nri::Pod db = MakePod("db", "");
  ASSERT_TRUE(Create(db, ContainerIn(db, "app", 2000)));
  EXPECT_EQ(CpusOf(late, container), Cpus("0,3-7"));
}

TEST_F(LookedAtTest, AContainerWithCpusOfItsOwnIsMadeWhenAllGroupsAreKnownThatAreToLeaveThem) {
  BeginLook();
  const nri::Pod db = MakePod("db", "");
  const nri::Container own = ContainerIn(db, "app", 2000);
  const auto early = Asked<nri::Creation>();
  agent->Create(db, own, early);
  manager->executor().RunAll();
  EXPECT_FALSE(host.store.saved && host.store.saved->ledger.pods.contains(db.uid));
  EndLook();
  const auto given = early.Wait();
  ASSERT_TRUE(given && *given);
  EXPECT_EQ((*given)->adjustment.resources.cpus, "1-2");
  EXPECT_LT(FirstEvent("Placed"), FirstEvent("PlacedLate")) << "before it was decided on all others";
  for (std::size_t i = 0; i < all.pods.size(); ++i) EXPECT_EQ(CpusOf(all.pods[i], all.containers[i]), Cpus("0,3-7"));
}

TEST_F(LookedAtTest, OneThatIsMadeAnewMeanwhileIsTheNewOne) {
  BeginLook();
  const nri::Pod& pod = all.pods.back();
  nri::Container anew = ContainerIn(pod, "app", 0);
  anew.id += "-2";
  ASSERT_TRUE(Create(pod, anew));
  ASSERT_TRUE(Start(pod, anew));
  EndLook();
  const nri::Pod db = MakePod("db", "");
  ASSERT_TRUE(Create(db, ContainerIn(db, "app", 2000)));
  EXPECT_EQ(CpusOf(pod, anew), Cpus("0,3-7"));
}

TEST_F(LookedAtTest, WhatWasDecidedIsPutInForceInSlicesAndNobodyWaitsForAllOfIt) {
  BeginLook();
  ASSERT_TRUE(BecomesSaved());
  EXPECT_GE(CountTold("PlacedLate"), 1U);
  EXPECT_LE(CountTold("PlacedLate"), 12U) << "a slice has ten milliseconds";
  EXPECT_FALSE(agent->Started());
  const nri::Pod db = MakePod("db", "");
  const auto created = Create(db, ContainerIn(db, "app", 2000));
  ASSERT_TRUE(created);
  EXPECT_EQ(created->adjustment.resources.cpus, "1-2");
  for (std::size_t i = 0; i < all.pods.size(); ++i) EXPECT_EQ(CpusOf(all.pods[i], all.containers[i]), Cpus("0,3-7"));
  EXPECT_FALSE(agent->Started());
  EndLook();
  EXPECT_EQ(all.pods.size(), CountTold("PlacedLate"));
}

/// Whoever comes all the time does not keep it from its end.
TEST_F(LookedAtTest, ItEndsHoweverManyComeMeanwhile) {
  BeginLook();
  int made = 0;
  for (int i = 0; i < 100 && !agent->Started(); ++i) {
    const nri::Pod pod = MakePod("n" + std::to_string(i), "burstable");
    agent->Create(pod, ContainerIn(pod, "app", 0), Asked<nri::Creation>());
    manager->executor().RunAll();
    agent->Tick(host.clock.Now());
    manager->executor().RunAll();
    ++made;
  }
  EXPECT_TRUE(agent->Started());
  EXPECT_LT(made, 60);
}

/// Each of them changes the ledger, and a slice is too short for all cpusets.
TEST_F(LookedAtTest, WhatWasDecidedIsInForceAtLastHoweverManyComeMeanwhile) {
  host.tree.cpus_take = os::Millis(1);
  BeginLook();
  int made = 0;
  for (; made < 200 && !agent->Started(); ++made) {
    const nri::Pod pod = MakePod("n" + std::to_string(made), "burstable");
    agent->Create(pod, ContainerIn(pod, "app", 0), Asked<nri::Creation>());
    manager->executor().RunAll();
    agent->Tick(host.clock.Now());
    manager->executor().RunAll();
  }
  EXPECT_TRUE(agent->Started());
  EXPECT_LT(made, 60) << "what was read and written is not done again";
  EXPECT_EQ(all.pods.size(), CountTold("PlacedLate"));
  for (const nri::Pod& pod : all.pods) EXPECT_EQ(1U, manager->core().pods().at(pod.uid).decisions) << pod.uid;
}

/// However long it lasts already: whoever asks waits for a slice.
TEST_F(LookedAtTest, ASliceOfWhatWasDecidedHasHalfASecondAtMost) {
  BeginLook();
  ASSERT_TRUE(BecomesSaved());
  agent->Joined({});
  host.clock.Advance(os::Millis(3'600'000));
  host.tree.look_takes = os::Millis(90);
  const std::uint64_t told = CountTold("PlacedLate");
  const os::MonoTime before = host.clock.Now();
  agent->Tick(before);
  EXPECT_GE(CountTold("PlacedLate"), told + 2);
  EXPECT_LE(host.clock.Now() - before, os::Millis(600));
  EXPECT_FALSE(agent->Started());
  EndLook();
}

/// All pods are known and it is being decided: on the containers in the inventory, without the pod "back", which has
/// two CPUs of its own and of which nothing runs any more. To see that takes 20 ms, so the slice is over then.
struct DecidingTest : LookedAtTest {
  void BeginDeciding() {
    BeginLook();
    EndLook();
    back = MakePod("back", "");
    const nri::Container own = Run(back, "app", 2000);
    Settle();
    for (const std::string& id : {back.id, own.id}) host.tree.stuck.erase(PathOf(back) + "/" + id);
    host.tree.look_takes = os::Millis(4);  // three pods in a slice, and one in the last
    host.tree.pids_take = {{PathOf(back), os::Millis(20)}};
    agent->Joined({});
    agent->Synchronize(all);
    host.tree.walks = 0;
    while (host.tree.walks < static_cast<int>(all.pods.size()) && !agent->Started()) agent->Tick(host.clock.Now());
    host.tree.pids_take.clear();
    EXPECT_FALSE(agent->Started());
    EXPECT_TRUE(manager->ledger().pods.contains(back.uid));
  }

  nri::Pod back;
};

/// Its record is still in force, and what it had is given to nobody else.
TEST_F(DecidingTest, APodThatComesBackMeanwhileKeepsItsPlace) {
  BeginDeciding();
  nri::Pod again = back;
  again.id += "-2";
  MakeGroup(PathOf(again) + "/" + again.id);
  nri::Container own = ContainerIn(again, "app", 2000);
  own.id += "-2";
  const auto created = Create(again, own);
  ASSERT_TRUE(created);
  EXPECT_EQ(created->adjustment.resources.cpus, "1-2");
  ASSERT_FALSE(agent->Started());
  EndLook();
  Settle();
  EXPECT_TRUE(manager->ledger().pods.contains(back.uid));
  const nri::Pod db = MakePod("db", "");
  const auto next = Create(db, ContainerIn(db, "app", 2000));
  ASSERT_TRUE(next);
  EXPECT_EQ(next->adjustment.resources.cpus, "3-4");
}

TEST_F(DecidingTest, APodThatIsReleasedAgainIsNotForgottenBeforeThatIsSaved) {
  BeginDeciding();
  agent->Tick(host.clock.Now());  // all is decided, and is being saved
  host.store.full = true;
  host.clock.Advance(os::Millis(100));
  agent->Tick(host.clock.Now());
  manager->executor().RunAll();
  EXPECT_TRUE(manager->ledger().pods.contains(back.uid));
  host.store.full = false;
  host.clock.Advance(os::Millis(60'000));
  EndLook();
  Settle();
  EXPECT_FALSE(manager->ledger().pods.contains(back.uid));
  EXPECT_FALSE(manager->core().pods().contains(back.uid));
}

/// What is saved next has the revision of what was not.
TEST_F(DecidingTest, APlaceThatWasSavedAfterAnotherWasNotIsKept) {
  BeginDeciding();
  host.store.full = true;
  const nri::Pod lost = MakePod("lost", "burstable");
  ASSERT_TRUE(Create(lost, ContainerIn(lost, "app", 0)));
  host.store.full = false;
  host.clock.Advance(os::Millis(60'000));
  const nri::Pod late = MakePod("late", "burstable");
  ASSERT_TRUE(Create(late, ContainerIn(late, "app", 0)));
  ASSERT_FALSE(agent->Started());
  EndLook();
  Settle();
  EXPECT_TRUE(manager->ledger().pods.contains(late.uid));
}

struct PinnedLookedAtTest : LookedAtTest {
  PinnedLookedAtTest() : LookedAtTest("numa:2(memory=4GB) core:4 pu:1", Config()) {}
  static KubeletConfiguration Config() {
    KubeletConfiguration out;
    out.topology_manager_policy = "best-effort";
    out.memory_manager_policy = "Static";
    out.reserved_memory = {{NumaId{0}, {{"memory", *Quantity::Parse("100Mi")}}}};
    return out;
  }
};

TEST_F(PinnedLookedAtTest, MemoryThatWasDecidedIsWrittenBeforeAnybodyLooksAtAllCpusets) {
  const nri::Pod last = MakePod("z", "");
  nri::Container own = ContainerIn(last, "app", 2000);
  own.state = nri::ContainerState::kRunning;
  MakeGroup(PathOf(last) + "/" + own.id);
  all.pods.push_back(last);
  all.containers.push_back(own);
  BeginLook();
  ASSERT_TRUE(BecomesSaved());
  ASSERT_LT(CountTold("PlacedLate"), all.pods.size());
  EXPECT_EQ(host.tree.Read(PathOf(last) + "/" + own.id)->mems, NodeSet::Range(0, 0));
  host.tree.look_takes = os::Millis(0);
  host.clock.Advance(os::Millis(5'000));
  manager->bare().Tick(host.clock.Now());  // it looks at all cpusets
  EXPECT_EQ(0, CountEvents("CgroupRepaired"));
  EndLook();
  EXPECT_EQ(all.pods.size(), CountTold("PlacedLate"));
}

/// BERTH_BESIDE_CONTAINERS: how many; it says how long they take.
struct NriAllocatorManyPodsTest : NriAllocatorTest {
  NriAllocatorManyPodsTest() : NriAllocatorTest("pack:2 numa:4 core:16 pu:2") {}
};

TEST_F(NriAllocatorManyPodsTest, AllThatARuntimeHasIsLookedAtAndPlaced) {
  const char* const text = std::getenv("BERTH_BESIDE_CONTAINERS");
  const int count = text == nullptr ? 300 : std::atoi(text);
  Boot();
  nri::Inventory all;
  for (int i = 0; i < count; ++i) {
    const nri::Pod pod = MakePod("p" + std::to_string(i), i % 100 == 0 ? "" : "burstable");
    nri::Container container = ContainerIn(pod, "app", i % 100 == 0 ? 2000 : 0);
    MakeGroup(PathOf(pod) + "/" + container.id);
    container.state = nri::ContainerState::kRunning;
    all.pods.push_back(pod);
    all.containers.push_back(container);
  }
  host.tree.crowded = true;
  const auto begin = std::chrono::steady_clock::now();
  agent->Synchronize(all);
  while (agent->next_due() == os::MonoTime()) agent->Tick(host.clock.Now());
  manager->executor().RunAll();
  const auto took = std::chrono::steady_clock::now() - begin;
  std::cout << count << " containers in " << std::chrono::duration_cast<std::chrono::milliseconds>(took).count()
            << " ms\n";
  const int own = (count + 99) / 100;
  std::string odd;
  for (const Event& event : host.events.events())
    if (event.type == EventType::kWarning) odd += event.reason + ": " + event.message + "\n";
  EXPECT_EQ(odd, "");
  EXPECT_EQ(ExclusiveCpus(manager->ledger()).Count(), own * 2);
  EXPECT_EQ(CpusOf(all.pods[1], all.containers[1]), manager->ledger().shared);
}

}  // namespace
}  // namespace berth::daemon
