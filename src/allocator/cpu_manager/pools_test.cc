#include "allocator/cpu_manager/pools.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "allocator/engine.h"
#include "allocator/explain/explain.h"
#include "allocator/testing/builders.h"
#include "model/promises.h"

namespace berth::allocator {
namespace {

using testing::Cpus;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MakeContainer;
using testing::Q;

PoolRule PoolNamed(std::string name) {
  PoolRule out;
  out.name = std::move(name);
  out.namespaces = {"*"};
  return out;
}

/// Two NUMA nodes of four cores with two threads: CPUs 0-7 and 8-15; CPU 0 is reserved.
class PoolsTest : public ::testing::Test {
 protected:
  void Use(std::vector<PoolRule> pools, std::map<std::string, std::string> options = {}) {
    KubeletConfiguration config = testing::StaticConfig("0");
    config.cpu_manager_policy_options = std::move(options);
    Start(std::move(config), std::move(pools));
    ledger_ = node_->EmptyLedger();
  }
  /// The same ledger with other settings.
  void Start(KubeletConfiguration config, std::vector<PoolRule> pools) {
    EngineOptions engine;
    engine.own.pools = std::move(pools);
    auto node = Node::Make(testing::MakeMachine(shape_), config, engine);
    ASSERT_TRUE(node) << node.error().message;
    node_ = *std::move(node);
  }

  static Pod InPool(const std::string& uid, const std::string& cpu, const std::string& pool) {
    Pod out = testing::MakePod(uid, {MakeContainer("main", {{"cpu", cpu}, {"memory", "64Mi"}})});
    out.annotations["berth.dev/pool"] = pool;
    return out;
  }
  /// The reason; "": it is there now.
  std::string Add(const Pod& pod) {
    Decision decision = Decide(*node_, ledger_, pod, {}, nullptr);
    if (auto* const no = std::get_if<Reject>(&decision)) {
      reject_ = *no;
      return no->reason;
    }
    Apply(ledger_, std::get<Admit>(decision).delta);
    EXPECT_THAT(Contradictions(ledger_), IsEmpty());
    return "";
  }
  std::string ResizeTo(const Pod& pod) {
    Decision decision = Resize(*node_, ledger_, pod, {}, nullptr);
    if (auto* const no = std::get_if<Reject>(&decision)) {
      reject_ = *no;
      return no->reason;
    }
    Apply(ledger_, std::get<Admit>(decision).delta);
    EXPECT_THAT(Contradictions(ledger_), IsEmpty());
    return "";
  }
  void Remove(const std::string& uid) {
    Apply(ledger_, Release(*node_, ledger_, uid, nullptr));
    EXPECT_THAT(Contradictions(ledger_), IsEmpty());
  }
  std::string PoolCpus(const std::string& name) const {
    const auto pool = ledger_.pools.find(name);
    return pool == ledger_.pools.end() ? "none" : FormatIds(pool->second.cpus);
  }

  testing::Shape shape_{.sockets = 1, .nodes_per_socket = 2, .adjacent = true};
  std::optional<Node> node_;
  Ledger ledger_;
  Reject reject_;
};

TEST_F(PoolsTest, PodsShareAPoolThatIsAsLargeAsTheyAsk) {
  Use({PoolNamed("batch")});
  EXPECT_EQ(Add(InPool("a", "1500m", "batch")), "");
  EXPECT_EQ(PoolCpus("batch"), "2-3");
  EXPECT_EQ(Add(InPool("b", "500m", "batch")), "");
  EXPECT_EQ(PoolCpus("batch"), "2-3") << "2000m are two CPUs";
  EXPECT_EQ(Add(InPool("c", "1100m", "batch")), "");
  EXPECT_EQ(PoolCpus("batch"), "2-5");
  EXPECT_EQ(FormatIds(ledger_.shared), "0-1,6-15");
  EXPECT_FALSE(ledger_.pods.at("a").placements[0].cpus) << "whole CPUs of a Guaranteed pod are not its own in a pool";
}

TEST_F(PoolsTest, WhoLeavesGivesBackAndTheLastOneAll) {
  Use({PoolNamed("batch")});
  ASSERT_EQ(Add(InPool("a", "2", "batch")), "");
  ASSERT_EQ(Add(InPool("b", "3", "batch")), "");
  ASSERT_EQ(PoolCpus("batch"), "1-5");
  Remove("b");
  EXPECT_EQ(PoolCpus("batch"), "2-3");
  Remove("a");
  EXPECT_EQ(ledger_.pools, CpuPools());
  EXPECT_EQ(ledger_.shared, node_->EmptyLedger().shared);
}

TEST_F(PoolsTest, APoolIsNotOfferedForExclusiveUse) {
  Use({PoolNamed("batch")});
  ASSERT_EQ(Add(InPool("a", "7", "batch")), "");
  EXPECT_EQ(PoolCpus("batch"), "1-7") << "the fullest node that has as many";
  EXPECT_EQ(Add(testing::MakePod("own", {MakeContainer("main", {{"cpu", "8"}, {"memory", "1Mi"}})})), "");
  EXPECT_EQ(FormatIds(ExclusiveCpus(ledger_)), "8-15");
  EXPECT_EQ(Add(testing::MakePod("more", {MakeContainer("main", {{"cpu", "1"}, {"memory", "1Mi"}})})),
            "UnexpectedAdmissionError");
}

TEST_F(PoolsTest, HoldsTheLeastWhileItIsThere) {
  PoolRule rule = PoolNamed("batch");
  rule.min_cpus = 4;
  Use({rule});
  ASSERT_EQ(Add(InPool("a", "1", "batch")), "");
  EXPECT_EQ(Cpus(PoolCpus("batch")).Count(), 4);
  ASSERT_EQ(Add(InPool("b", "4", "batch")), "");
  EXPECT_EQ(Cpus(PoolCpus("batch")).Count(), 5);
  Remove("b");
  EXPECT_EQ(Cpus(PoolCpus("batch")).Count(), 4);
  Remove("a");
  EXPECT_EQ(PoolCpus("batch"), "none");
}

TEST_F(PoolsTest, BeyondTheMostIsRefusedWithFigures) {
  PoolRule rule = PoolNamed("batch");
  rule.max_cpus = 3;
  Use({rule});
  ASSERT_EQ(Add(InPool("a", "2", "batch")), "");
  EXPECT_EQ(Add(InPool("b", "1500m", "batch")), "CPUPoolError");
  EXPECT_EQ(reject_.message, "CPU pool batch may have 3 CPUs (maxCpus), and with this pod it would need 4");
  EXPECT_EQ(Add(InPool("b", "1", "batch")), "");
}

TEST_F(PoolsTest, TooFewFreeCpusAreNamed) {
  PoolRule rule = PoolNamed("batch");
  rule.numa_nodes = {NumaId{1}};
  Use({rule});
  ASSERT_EQ(Add(InPool("a", "6", "batch")), "");
  EXPECT_EQ(PoolCpus("batch"), "8-13");
  EXPECT_EQ(Add(InPool("b", "3", "batch")), "CPUPoolError");
  EXPECT_EQ(reject_.message, "CPU pool batch needs 3 CPUs more for its containers, and 2 CPUs are free for it");
  EXPECT_THAT(reject_.details, ElementsAre("cpu: 3 CPUs asked, 2 CPUs of 8 CPUs free on node 1 (1 CPU short)"));
}

TEST_F(PoolsTest, WholeCoresAreNobodyElses) {
  PoolRule rule = PoolNamed("batch");
  rule.threads = PoolThreads::kWholeCores;
  Use({rule});
  ASSERT_EQ(Add(InPool("a", "1", "batch")), "");
  EXPECT_EQ(PoolCpus("batch"), "2-3");
  ASSERT_EQ(Add(InPool("b", "1", "batch")), "");
  EXPECT_EQ(PoolCpus("batch"), "2-3") << "there was room on the second thread";
  ASSERT_EQ(Add(InPool("c", "1", "batch")), "");
  EXPECT_EQ(PoolCpus("batch"), "2-5");
  Remove("a");
  EXPECT_EQ(Cpus(PoolCpus("batch")).Count(), 2);
}

TEST_F(PoolsTest, OnePerCoreLeavesSiblingsIdle) {
  PoolRule rule = PoolNamed("quiet");
  rule.threads = PoolThreads::kOnePerCore;
  rule.max_cpus = 3;
  Use({rule});
  ASSERT_EQ(Add(InPool("a", "2", "quiet")), "");
  EXPECT_EQ(PoolCpus("quiet"), "2,4");
  EXPECT_EQ(FormatIds(ledger_.pools.at("quiet").idle), "3,5");
  EXPECT_EQ(FormatIds(ledger_.shared), "0-1,6-15");
  ASSERT_EQ(Add(InPool("b", "1", "quiet")), "");
  EXPECT_EQ(PoolCpus("quiet"), "2,4,6") << "core 0 has a reserved CPU";
  Remove("a");
  EXPECT_EQ(HeldCpus(ledger_.pools.at("quiet")).Count(), 2);
  Remove("b");
  EXPECT_EQ(ledger_.shared, node_->EmptyLedger().shared);
}

TEST_F(PoolsTest, StaysInOneL3GroupWhereItsOptionsSaySo) {
  shape_.cores_per_uncore = 2;
  PoolRule rule = PoolNamed("near");
  rule.cpu = *ParseCpuWishes("l3=strict");
  Use({rule});
  ASSERT_EQ(Add(InPool("a", "2", "near")), "");
  EXPECT_EQ(PoolCpus("near"), "2-3");
  ASSERT_EQ(Add(InPool("b", "1", "near")), "");
  EXPECT_EQ(PoolCpus("near"), "1-3");
  EXPECT_EQ(Add(InPool("c", "1", "near")), "CPUPoolError") << "the group's fourth CPU is reserved";
  EXPECT_THAT(reject_.message, HasSubstr("but not as its cpuOptions want them"));
  EXPECT_THAT(reject_.details, ElementsAre("cpu: 1 CPU more asked of the L3 group of CPUs 1-3, 0 CPUs of it are free"));
}

TEST_F(PoolsTest, CoresOfAKindComeFirst) {
  Machine machine = testing::MakeMachine(shape_);
  for (NumaNode& node : machine.nodes)
    for (Core& core : node.cores) core.kind = node.id == NumaId{1} ? CoreKind::kEfficiency : CoreKind::kPerformance;
  EngineOptions options;
  options.own.pools = {PoolNamed("slow")};
  options.own.pools[0].cpu = *ParseCpuWishes("kind=efficiency");
  auto node = Node::Make(machine, testing::StaticConfig("0"), options);
  ASSERT_TRUE(node);
  node_ = *std::move(node);
  ledger_ = node_->EmptyLedger();
  ASSERT_EQ(Add(InPool("a", "2", "slow")), "");
  EXPECT_EQ(PoolCpus("slow"), "8-9");
}

TEST_F(PoolsTest, ContainersOfAPodMayBeInDifferentPools) {
  Use({PoolNamed("batch"), PoolNamed("web")});
  Pod pod = testing::MakePod("a", {MakeContainer("main", {{"cpu", "2"}, {"memory", "64Mi"}}),
                                   MakeContainer("proxy", {{"cpu", "1"}, {"memory", "64Mi"}}),
                                   MakeContainer("log", {{"cpu", "100m"}, {"memory", "64Mi"}})});
  pod.annotations["berth.dev/pool"] = "main=batch, proxy=web";
  ASSERT_EQ(Add(pod), "");
  EXPECT_EQ(Cpus(PoolCpus("batch")).Count(), 2);
  EXPECT_EQ(Cpus(PoolCpus("web")).Count(), 1);
  EXPECT_EQ(CpusText(ledger_.pods.at("a").placements[2]), "shared");
}

TEST_F(PoolsTest, InitContainersCountAsTheyDoForRequests) {
  Use({PoolNamed("batch")});
  Pod pod = testing::MakePod("a", {MakeContainer("main", {{"cpu", "2"}, {"memory", "64Mi"}})},
                             {MakeContainer("first", {{"cpu", "5"}, {"memory", "64Mi"}}),
                              testing::Sidecar(MakeContainer("beside", {{"cpu", "1"}, {"memory", "64Mi"}}))});
  pod.annotations["berth.dev/pool"] = "batch";
  ASSERT_EQ(Add(pod), "");
  EXPECT_EQ(Cpus(PoolCpus("batch")).Count(), 5);
}

TEST_F(PoolsTest, AResizeGrowsAndShrinksThePool) {
  Use({PoolNamed("batch")});
  ASSERT_EQ(Add(InPool("a", "2", "batch")), "");
  ASSERT_EQ(PoolCpus("batch"), "2-3");
  EXPECT_EQ(ResizeTo(InPool("a", "4", "batch")), "");
  EXPECT_EQ(PoolCpus("batch"), "2-5");
  EXPECT_EQ(ResizeTo(InPool("a", "1", "batch")), "");
  EXPECT_EQ(Cpus(PoolCpus("batch")).Count(), 1);
  EXPECT_EQ(ResizeTo(InPool("a", "1", "other")), "Infeasible");
}

TEST_F(PoolsTest, AResizeThatFitsLaterIsDeferred) {
  PoolRule rule = PoolNamed("batch");
  rule.max_cpus = 4;
  Use({rule});
  ASSERT_EQ(Add(InPool("a", "2", "batch")), "");
  ASSERT_EQ(Add(InPool("b", "2", "batch")), "");
  EXPECT_EQ(ResizeTo(InPool("a", "3", "batch")), "Deferred");
  EXPECT_EQ(ResizeTo(InPool("a", "5", "batch")), "Infeasible");
}

TEST_F(PoolsTest, WhoMayNotIsToldWhy) {
  PoolRule rule = PoolNamed("batch");
  rule.namespaces = {"jobs-*"};
  Use({rule, PoolNamed("web")});
  EXPECT_EQ(Add(InPool("a", "1", "batch")), "CPUPoolError");
  EXPECT_EQ(reject_.message, "berth.dev/pool: CPU pool \"batch\" is not for namespace default (it is for jobs-*)");
  EXPECT_EQ(Add(InPool("a", "1", "bath")), "CPUPoolError");
  EXPECT_EQ(reject_.message, "berth.dev/pool: there is no CPU pool \"bath\" (this node has batch, web)");
  Pod jobs = InPool("j", "1", "batch");
  jobs.namespace_ = "jobs-1";
  EXPECT_EQ(Add(jobs), "");
}

TEST_F(PoolsTest, CpusOfItsOwnAndAPoolDoNotGoTogether) {
  Use({PoolNamed("web")});
  EngineOptions options = node_->options();
  PodPolicy& policy = options.own.pods.emplace_back();
  policy.name = "all";
  policy.namespaces = policy.cpus = policy.numa_nodes = {"*"};
  node_ = *Node::Make(node_->machine(), node_->config(), options);
  Pod pod = InPool("a", "1", "web");
  pod.annotations["berth.dev/cpus"] = "1 exclusive";
  EXPECT_EQ(Add(pod), "CPUPoolError");
  EXPECT_THAT(reject_.message, HasSubstr("leave one of them out"));
  pod.annotations["berth.dev/cpus"] = "shared";
  EXPECT_EQ(Add(pod), "");
}

TEST_F(PoolsTest, WithoutPoolsNoneIsFound) {
  Use({});
  EXPECT_EQ(Add(InPool("a", "1", "batch")), "CPUPoolError");
  EXPECT_THAT(reject_.message, HasSubstr("this node has no cpuPools"));
  KubeletConfiguration none;
  EngineOptions options;
  options.own.pools = {PoolNamed("batch")};
  const auto refused = Node::Make(testing::MakeMachine(shape_), none, options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("cpuPools: there are no pools under cpuManagerPolicy none"));
}

TEST_F(PoolsTest, SettingsThatCannotBeAreRefusedAtStart) {
  const auto problem = [&](const PoolRule& rule) {
    EngineOptions options;
    options.own.pools = {rule};
    const auto node = Node::Make(testing::MakeMachine(shape_), testing::StaticConfig("0"), options);
    return node ? std::string() : node.error().message;
  };
  PoolRule rule = PoolNamed("batch");
  rule.numa_nodes = {NumaId{7}};
  EXPECT_EQ(problem(rule), "cpuPools: batch: numaNodes: this machine has no NUMA node 7 (it has 0-1)");
  rule = PoolNamed("batch");
  rule.threads = PoolThreads::kOnePerCore;
  rule.cpu = *ParseCpuWishes("cores=spread");
  EXPECT_THAT(problem(rule), HasSubstr("cpuPools: batch: full-pcpus-only cannot be used together with cores=spread"));
  rule.cpu = *ParseCpuWishes("full-pcpus-only=false");
  EXPECT_THAT(problem(rule), HasSubstr("smt: one-per-core"));
  rule.cpu = *ParseCpuWishes("align-by-socket");
  EXPECT_THAT(problem(rule), HasSubstr("align-by-socket"));
}

TEST_F(PoolsTest, APoolThatIsGoneFromTheSettingsStaysUntilItsPodsEnd) {
  Use({PoolNamed("batch")});
  ASSERT_EQ(Add(InPool("a", "2", "batch")), "");
  ASSERT_EQ(Add(InPool("b", "2", "batch")), "");
  Start(testing::StaticConfig("0"), {PoolNamed("web")});
  EXPECT_EQ(Add(InPool("c", "1", "batch")), "CPUPoolError");
  Remove("b");
  EXPECT_EQ(Cpus(PoolCpus("batch")).Count(), 2);
  Remove("a");
  EXPECT_EQ(ledger_.shared, node_->EmptyLedger().shared);
}

TEST_F(PoolsTest, OtherSettingsCountFromTheNextChangeOn) {
  Use({PoolNamed("batch")});
  ASSERT_EQ(Add(InPool("a", "3", "batch")), "");
  ASSERT_EQ(PoolCpus("batch"), "1-3");
  PoolRule rule = PoolNamed("batch");
  rule.threads = PoolThreads::kWholeCores;
  Start(testing::StaticConfig("0"), {rule});
  ASSERT_EQ(Add(InPool("b", "1", "batch")), "");
  EXPECT_EQ(PoolCpus("batch"), "1-5") << "one more, and its core with it";
  rule.max_cpus = 2;
  Start(testing::StaticConfig("0"), {rule});
  EXPECT_EQ(Add(InPool("c", "1", "batch")), "CPUPoolError");
  Remove("a");
  EXPECT_LE(Cpus(PoolCpus("batch")).Count(), 2);
}

TEST_F(PoolsTest, TheSharedPoolIsNeverUsedUp) {
  Use({PoolNamed("batch")}, {{"strict-cpu-reservation", "true"}});
  Pod pod = InPool("a", "15", "batch");
  EXPECT_EQ(Add(pod), "CPUPoolError");
  EXPECT_THAT(reject_.message, HasSubstr("would leave no CPU for the shared pool"));
  EXPECT_EQ(Add(InPool("a", "14", "batch")), "");
}

TEST_F(PoolsTest, AnExplanationNamesThePoolThatHoldsWhatIsShort) {
  PoolRule rule = PoolNamed("batch");
  rule.min_cpus = 10;
  Use({rule});
  ASSERT_EQ(Add(InPool("a", "1", "batch")), "");
  const Pod own = testing::MakePod("own", {MakeContainer("main", {{"cpu", "8"}, {"memory", "1Mi"}})});
  const Explanation refused = Explain(*node_, ledger_, own, {});
  ASSERT_TRUE(std::holds_alternative<Reject>(refused.decision));
  ASSERT_EQ(refused.holders.size(), 1U);
  EXPECT_EQ(refused.holders[0].pod, "CPU pool batch");
  EXPECT_EQ(refused.holders[0].amount, 10);
  ASSERT_TRUE(refused.removal);
  EXPECT_EQ(refused.removal->pods[0].uid, "a");
  const Explanation admitted = Explain(*node_, ledger_, InPool("b", "1", "batch"), {});
  std::string steps;
  for (const TraceStep& step : admitted.steps) steps += step.text + "\n";
  EXPECT_THAT(steps, HasSubstr("runs in CPU pool batch: its annotation says so"));
  EXPECT_THAT(steps, HasSubstr("CPU pool batch: its containers ask for 2000m CPU and run on"));
}

TEST_F(PoolsTest, ContainersThatBecomeKnownOneByOneJoinOneByOne) {
  Use({PoolNamed("batch")});
  Pod pod = InPool("a", "2", "batch");
  const auto join = [&](const std::string& container) {
    Decision decision = DecideContainer(*node_, ledger_, pod, container, {}, nullptr);
    ASSERT_TRUE(std::holds_alternative<Admit>(decision));
    Apply(ledger_, std::get<Admit>(decision).delta);
    EXPECT_THAT(Contradictions(ledger_), IsEmpty());
  };
  join("main");
  EXPECT_EQ(PoolCpus("batch"), "2-3");
  pod.containers.push_back(MakeContainer("proxy", {{"cpu", "1"}, {"memory", "1Mi"}}));
  join("proxy");
  EXPECT_EQ(PoolCpus("batch"), "1-3");
  join("proxy");
  EXPECT_EQ(PoolCpus("batch"), "1-3") << "it has its place already";
}

}  // namespace
}  // namespace berth::allocator
