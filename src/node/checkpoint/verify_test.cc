#include "node/checkpoint/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "node/checkpoint/ledger_import.h"
#include "testing/fixtures.h"

namespace berth::checkpoint {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testkit::Cpus;

/// One pod with CPUs 2-3 for itself, one in the shared pool; both run where they should.
struct VerifyRunningTest : testing::Test {
  VerifyRunningTest() {
    ledger.cpu_policy = "static";
    ledger.shared = Cpus("0-1,4-7");
    Add("a", "web").placements.front().cpus = Cpus("2-3");
    Add("b", "batch");
    running = {{.path = "kubepods/poda/app", .uid = "a", .name = "app", .cpus = Cpus("2-3"), .busy = true},
               {.path = "kubepods/burstable/podb/app", .uid = "b", .name = "app", .cpus = ledger.shared, .busy = true}};
  }
  PodRecord& Add(const std::string& uid, const std::string& name) {
    PodRecord& pod = ledger.pods[uid];
    pod = {.uid = uid, .namespace_ = "default", .name = name};
    pod.placements.push_back({.container = "app"});
    return pod;
  }
  std::vector<std::string> Verify() const { return VerifyRunning(ledger, Cpus("0-7"), running, known); }

  Ledger ledger;
  std::vector<RunningGroup> running;
  std::optional<std::set<std::string>> known = std::set<std::string>{"a", "b"};
};

TEST_F(VerifyRunningTest, ASoundNodeBreaksNothing) { EXPECT_THAT(Verify(), IsEmpty()); }

TEST_F(VerifyRunningTest, AContainerElsewhereIsNamed) {
  running[0].cpus = Cpus("2");
  EXPECT_THAT(Verify(), ElementsAre(HasSubstr("default/web may run on CPUs 2, the ledger gives it CPUs 2-3")));
}

TEST_F(VerifyRunningTest, AnIntruderIsNamedWithItsVictim) {
  running[1].cpus = Cpus("0-7");
  EXPECT_THAT(Verify(), ElementsAre(HasSubstr("the ledger gives it the shared pool 0-1,4-7"),
                                    HasSubstr("may run on CPUs 2-3, which default/web has for itself")));
}

TEST_F(VerifyRunningTest, WhoIsKeptToNodesHasTheirPartOfThePool) {
  ledger.pods["b"].placements.front().node_cpus = Cpus("4-7");
  EXPECT_THAT(Verify(), ElementsAre(HasSubstr("the ledger gives it the shared pool 4-7")));
  running[1].cpus = Cpus("4-7");
  EXPECT_THAT(Verify(), IsEmpty());
}

TEST_F(VerifyRunningTest, WhoRunsInANamedPoolHasItAndNobodyElse) {
  ledger.pods["b"].placements.front().pool = "batch";
  ledger.pools["batch"] = {.cpus = Cpus("4-5"), .idle = Cpus("6")};
  ledger.shared = Cpus("0-1,7");
  EXPECT_THAT(Verify(), ElementsAre(HasSubstr("the ledger gives it CPU pool batch, 4-5"),
                                    HasSubstr("may run on CPUs 6, which are for CPU pool batch")));
  running[1].cpus = Cpus("4-5");
  EXPECT_THAT(Verify(), IsEmpty());
  Add("c", "other");
  known->insert("c");
  running.push_back({.path = "kubepods/podc/app", .uid = "c", .name = "app", .cpus = Cpus("0-1,5-7"), .busy = true});
  EXPECT_THAT(Verify(), ElementsAre(HasSubstr("the ledger gives it the shared pool 0-1,7"),
                                    HasSubstr("may run on CPUs 5-6, which are for CPU pool batch")));
}

TEST_F(VerifyRunningTest, OfflineCpusAreNobodysFault) {
  running[0].cpus = Cpus("2");
  EXPECT_THAT(VerifyRunning(ledger, Cpus("0-2,4-7"), running, known), IsEmpty());
}

TEST_F(VerifyRunningTest, ALeakIsNamed) {
  known = std::set<std::string>{"b"};
  EXPECT_THAT(Verify(), ElementsAre("default/web holds CPUs 2-3 although it is gone"));
  known.reset();
  running.erase(running.begin());
  EXPECT_THAT(Verify(), ElementsAre("default/web holds CPUs 2-3 although nothing of it exists on the node"));
}

TEST_F(VerifyRunningTest, ProcessesThatSurviveTheirKillAreNamedWithTheirStates) {
  running[0].survivors = {"23 (state D)", "42 (state D)"};
  EXPECT_THAT(Verify(),
              ElementsAre("kubepods/poda/app of default/web: process 23 (state D) survives SIGKILL; it waits in the "
                          "kernel or is frozen, and keeps what the pod holds until it ends",
                          HasSubstr("process 42 (state D) survives SIGKILL; ")));
}

TEST_F(VerifyRunningTest, WhatRunsWithoutAPlaceIsNamed) {
  running.push_back({.path = "kubepods/podx/app", .uid = "x", .name = "app", .cpus = ledger.shared, .busy = true});
  running.push_back({.path = "kubepods/pody/app", .uid = "y", .name = "app", .cpus = Cpus("0-7"), .busy = false});
  EXPECT_THAT(Verify(), ElementsAre("kubepods/podx/app runs without a place in the ledger"));
}

TEST_F(VerifyRunningTest, PodsTakenOverAreFoundByTheirCpus) {
  ledger.pods["a"].partial = true;
  running[0].name = "3f2a";
  EXPECT_THAT(Verify(), IsEmpty());
}

}  // namespace
}  // namespace berth::checkpoint
