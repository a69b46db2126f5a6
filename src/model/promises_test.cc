#include "model/promises.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace berth {
namespace {

using testing::HasSubstr;

CpuSet Cpus(std::string_view list) { return CpuSet::Parse(list).value_or(CpuSet{}); }

class PromisesTest : public testing::Test {
 protected:
  PromisesTest() {
    node_.cpus = Cpus("0-7");
    node_.reserved = Cpus("0");
    node_.static_cpus = true;
    node_.allocatable[NumaId{0}] = {{"memory", GiB(4)}};
    node_.devices["v.example/gpu"] = {{.id = "a"}, {.id = "b"}};
    state_.shared = Cpus("0-1,4-7");
    state_.pods = {"u1", "u2"};
    state_.memory[NumaId{0}].types["memory"] = {
        .total = GiB(4), .allocatable = GiB(4), .reserved = GiB(1), .free = GiB(3)};
    HolderFacts holder{.pod = "u1", .container = "app"};
    holder.cpus = Cpus("2-3");
    holder.memory = {{{NumaId{0}}, "memory", GiB(1)}};
    holder.devices["v.example/gpu"] = {"a"};
    state_.holders = {holder};
  }

  HolderFacts& app() { return state_.holders.front(); }
  MemoryTable& memory() { return state_.memory[NumaId{0}].types["memory"]; }
  HolderFacts& Another(const std::string& pod, ContainerKind kind, int position) {
    HolderFacts holder{.pod = pod, .container = "other", .kind = kind, .position = position};
    state_.holders.push_back(holder);
    return state_.holders.back();
  }
  void ExpectBroken(const std::string& words) {
    EXPECT_THAT(BrokenPromises(node_, state_), testing::Contains(HasSubstr(words)));
  }
  void ExpectKept() { EXPECT_THAT(BrokenPromises(node_, state_), testing::IsEmpty()); }

  NodeFacts node_;
  StateFacts state_;
};

TEST_F(PromisesTest, ASoundStateKeepsThemAll) { ExpectKept(); }

TEST_F(PromisesTest, ExclusiveCpusAreOnline) {
  app().cpus = Cpus("2-3,9");
  ExpectBroken("u1/app holds CPUs that are not online: 9");
}

TEST_F(PromisesTest, ExclusiveCpusAreNotReserved) {
  app().cpus = Cpus("0,2-3");
  ExpectBroken("reserved CPUs: 0");
}

TEST_F(PromisesTest, ExclusiveCpusAreNotShared) {
  state_.shared = Cpus("0-2,4-7");
  ExpectBroken("in the shared pool: 2");
}

TEST_F(PromisesTest, NoCpuIsLost) {
  state_.shared = Cpus("0-1,4-6");
  ExpectBroken("are 0-6, not 0-7");
}

TEST_F(PromisesTest, StrictReservationKeepsReservedCpusOutOfTheSharedPool) {
  node_.strict = true;
  ExpectBroken("are 0-7, not 1-7");
  state_.shared = Cpus("1,4-7");
  ExpectKept();
}

TEST_F(PromisesTest, TheSharedPoolIsNeverEmptyUnlessStrict) {
  node_.reserved = CpuSet();
  app().cpus = Cpus("0-7");
  state_.shared = CpuSet();
  ExpectBroken("shared pool is empty");
  node_.strict = true;
  ExpectKept();
}

TEST_F(PromisesTest, PolicyNoneHasNoExclusiveCpus) {
  node_.static_cpus = false;
  state_.shared = CpuSet();
  ExpectBroken("policy none");
}

TEST_F(PromisesTest, ANamedPoolHasCpusOfItsOwnAndSomebodyInIt) {
  state_.shared = Cpus("0-1,6-7");
  state_.pools["batch"] = {.cpus = Cpus("4"), .idle = Cpus("5")};
  ExpectBroken("CPU pool batch is there although no container runs in it");
  HolderFacts& other = Another("u2", ContainerKind::kApp, 0);
  other.pool = "batch";
  ExpectKept();
  other.cpus = Cpus("6");
  ExpectBroken("u2/other runs in CPU pool batch and holds CPUs 6");
  other.cpus = CpuSet();
  other.pool = "bath";
  ExpectBroken("u2/other runs in CPU pool bath, which is not there");
  other.pool = "batch";
  state_.pools["batch"].idle = Cpus("4-5");
  ExpectBroken("CPU pool batch leaves CPUs 4 idle that it runs on");
  state_.pools["batch"] = {};
  ExpectBroken("CPU pool batch has no CPUs");
}

TEST_F(PromisesTest, CpusOfANamedPoolAreNobodyElses) {
  state_.shared = Cpus("0-1,5-7");
  state_.pools["batch"] = {.cpus = Cpus("4")};
  Another("u2", ContainerKind::kApp, 0).pool = "batch";
  ExpectKept();
  state_.pools["batch"].cpus = Cpus("4-5");
  ExpectBroken("CPUs of CPU pool batch are in the shared pool: 5");
  state_.pools["batch"].cpus = Cpus("3-4");
  ExpectBroken("CPUs of CPU pool batch are held by others: 3");
  state_.pools["batch"].cpus = Cpus("0,4");
  ExpectBroken("CPU pool batch holds reserved CPUs: 0");
  state_.pools["batch"].cpus = Cpus("4,9");
  ExpectBroken("CPU pool batch holds CPUs that are not online: 9");
  state_.pools["batch"].cpus = Cpus("4");
  state_.pools["web"] = {.cpus = Cpus("4")};
  Another("u2", ContainerKind::kApp, 1).pool = "web";
  ExpectBroken("CPUs of CPU pool web are held by others: 4");
  state_.pools.clear();
  ExpectBroken("are 0-3,5-7, not 0-7");
}

TEST_F(PromisesTest, TwoPodsNeverShareACpu) {
  Another("u2", ContainerKind::kApp, 0).cpus = Cpus("3");
  ExpectBroken("u1/app and u2/other both hold CPUs 3");
}

TEST_F(PromisesTest, OnlyAnInitContainerMayLeaveItsCpusToLaterOnes) {
  app().position = 2;
  HolderFacts& other = Another("u1", ContainerKind::kInit, 1);
  other.cpus = Cpus("3");
  ExpectKept();
  other.kind = ContainerKind::kSidecar;
  ExpectBroken("both hold CPUs 3");
  other.kind = ContainerKind::kApp;
  ExpectBroken("both hold CPUs 3");
}

TEST_F(PromisesTest, AnInitContainerMayNotTakeFromASidecarThatStillRuns) {
  app().kind = ContainerKind::kSidecar;
  Another("u1", ContainerKind::kInit, 1).cpus = Cpus("3");
  ExpectBroken("both hold CPUs 3");
}

TEST_F(PromisesTest, ADeviceHasOneHolder) {
  Another("u2", ContainerKind::kApp, 0).devices["v.example/gpu"] = {"a"};
  ExpectBroken("both hold v.example/gpu a");
}

TEST_F(PromisesTest, ADeviceExistsAndIsCountedOnce) {
  app().devices["v.example/gpu"] = {"a", "a"};
  ExpectBroken("twice");
  app().devices["v.example/gpu"] = {"c"};
  ExpectBroken("does not exist");
}

TEST_F(PromisesTest, MemoryCountersAddUp) {
  memory().free = GiB(2);
  ExpectBroken("reserved and free");
  memory() = {.total = GiB(4), .allocatable = GiB(4), .reserved = GiB(5), .free = GiB(-1)};
  ExpectBroken("negative");
  memory() = {.total = GiB(4), .allocatable = GiB(5), .reserved = GiB(1), .free = GiB(4)};
  ExpectBroken("allocatable has changed");
  memory() = {.total = GiB(4), .allocatable = GiB(4), .reserved = GiB(2), .free = GiB(2)};
  ExpectBroken("are booked");
  state_.memory.emplace(NumaId{5}, MemoryNodeState());
  ExpectBroken("every node");
}

TEST_F(PromisesTest, MemoryIsHeldOnNodesThatExist) {
  app().memory = {{{NumaId{3}}, "memory", GiB(1)}};
  ExpectBroken("unknown node");
  app().memory = {{{NumaId{0}}, "memory", GiB(-1)}};
  ExpectBroken("negative");
}

TEST_F(PromisesTest, APodThatIsGoneHoldsNothing) {
  state_.pods = {"u2"};
  ExpectBroken("u1/app holds something although its pod is gone");
}

TEST_F(PromisesTest, EveryBrokenPromiseIsNamed) {
  app().cpus = Cpus("0,9");
  EXPECT_THAT(BrokenPromises(node_, state_),
              testing::IsSupersetOf(
                  {HasSubstr("not online: 9"), HasSubstr("reserved CPUs: 0"), HasSubstr("in the shared pool: 0")}));
}

/// One pod that holds something of everything.
Ledger SoundLedger() {
  Ledger out{.revision = 3, .next_sequence = 2, .cpu_policy = "static", .memory_policy = "Static"};
  out.shared = Cpus("0-1,4-7");
  out.memory[NumaId{0}] = {
      .assignments = 1,
      .cells = {NumaId{0}},
      .types = {{"memory", {.total = GiB(5), .allocatable = GiB(4), .reserved = GiB(1), .free = GiB(3)}}}};
  PodRecord pod{.uid = "u1", .sequence = 1};
  pod.placements.push_back({.container = "app",
                            .cpus = Cpus("2-3"),
                            .memory = {{{.nodes = {NumaId{0}}, .type = "memory", .size = GiB(1)}}},
                            .devices = {{.resource = "v.example/gpu", .ids = {"a"}}}});
  out.pods.emplace("u1", std::move(pod));
  return out;
}

struct ContradictionsTest : testing::Test {
  PodRecord& pod() { return ledger.pods.begin()->second; }
  Placement& app() { return pod().placements.front(); }
  void ExpectSaid(const std::string& words) {
    EXPECT_THAT(Contradictions(ledger), testing::Contains(HasSubstr(words)));
    ledger = SoundLedger();
  }
  Ledger ledger = SoundLedger();
};

TEST_F(ContradictionsTest, ASoundLedgerHasNone) {
  EXPECT_THAT(Contradictions(ledger), testing::IsEmpty());
  EXPECT_THAT(Contradictions(Ledger{.cpu_policy = "none", .memory_policy = "None"}), testing::IsEmpty());
}

TEST_F(ContradictionsTest, EachIsFound) {
  ledger.shared |= Cpus("2");
  ExpectSaid("in the shared pool: 2");
  ledger.shared = {};
  ExpectSaid("the shared pool is empty");
  pod().uid = "u2";
  ExpectSaid("the record of pod u1 says uid u2");
  pod().sequence = 2;
  ExpectSaid("the next one is 2");
  ledger.pods.emplace("u2", PodRecord{.uid = "u2", .sequence = 1});
  ExpectSaid("both admitted as number 1");
  pod().placements.push_back({.container = "app"});
  ExpectSaid("u1/app is placed twice");
  app().cpus = CpuSet();
  ExpectSaid("an empty set of CPUs");
  ledger.memory[NumaId{0}].assignments = 2;
  ExpectSaid("node 0 counts 2 assignments of memory, there are 1");
  app().memory->front().size = GiB(2);
  ExpectSaid("the containers hold 2147483648");
  app().memory->front().nodes = {NumaId{3}};
  ExpectSaid("unknown node");
  app().memory->front().size = Bytes{std::numeric_limits<std::int64_t>::max()};
  ExpectSaid("are booked");
  ledger.memory[NumaId{0}].types["memory"].free = GiB(9);
  ExpectSaid("reserved and free");
  app().devices.front().ids = {"a", "a"};
  ExpectSaid("twice");
}

TEST_F(ContradictionsTest, WhatStayedExclusiveWhenThePolicyBecameNoneIsNone) {
  ledger.cpu_policy = "none";
  ledger.shared = {};
  EXPECT_THAT(Contradictions(ledger), testing::IsEmpty());
}

TEST(NodeFactsTest, AllocatableMemoryIsWhatReservationsAndHugePagesLeave) {
  Machine machine;
  NumaNode node{.id = NumaId{1}, .memory = GiB(8)};
  node.hugepages = {{.page_size = MiB(2), .count = 512}};
  machine.nodes = {node};
  KubeletConfiguration config;
  config.memory_manager_policy = "Static";
  config.reserved_memory = {
      {.node = NumaId{1},
       .limits = {{"memory", Quantity::FromBytes(GiB(1))}, {"hugepages-2Mi", Quantity::FromBytes(MiB(4))}}}};
  const NodeFacts facts = FactsOf(machine, config, CpuSet(), {});
  ASSERT_EQ(facts.allocatable.size(), 1U);
  const auto& types = facts.allocatable.begin()->second;
  EXPECT_EQ(types.find("memory")->second, GiB(6));
  EXPECT_EQ(types.find("hugepages-2Mi")->second, MiB(1020));
}

}  // namespace
}  // namespace berth
