// Options of the choice of CPUs that a kubelet has not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "allocator/engine.h"
#include "allocator/node/node_tables.h"
#include "allocator/testing/builders.h"
#include "model/promises.h"

namespace berth::allocator {
namespace {

using allocator::testing::Cpus;
using allocator::testing::MakeContainer;
using allocator::testing::MakeMachine;
using allocator::testing::MakePod;
using allocator::testing::StaticConfig;
using ::testing::HasSubstr;

/// Two nodes of two L3 groups of two cores of two threads: groups 0-3, 4-7, 8-11, 12-15.
Machine Sixteen() {
  return MakeMachine({.nodes_per_socket = 2, .adjacent = true, .hugepages = {}, .cores_per_uncore = 2, .offline = {}});
}

struct OwnOptionsTest : ::testing::Test {
  void Use(const std::string& options, const std::string& policy = "best-effort", Machine machine = Sixteen(),
           const std::string& reserved = "0") {
    KubeletConfiguration config = StaticConfig(reserved);
    config.topology_manager_policy = policy;
    auto wishes = ParseCpuWishes(options);
    BERTH_CHECK(wishes.has_value());
    auto made = Node::Make(std::move(machine), config, {.whole_cores = true, .own = {.cpu = *wishes, .pods = {}}});
    BERTH_CHECK(made.has_value());
    node = *std::move(made);
    ledger = node.EmptyLedger();
  }
  /// The CPUs, or the reason of the rejection.
  std::string Add(const std::string& uid, int cpus) {
    const Pod pod = MakePod(uid, {MakeContainer("c", {{"cpu", std::to_string(cpus)}, {"memory", "1Mi"}})});
    trace = Trace();
    const Decision decision = Decide(node, ledger, pod, {}, &trace);
    if (const auto* reject = std::get_if<Reject>(&decision)) {
      told = reject->message;
      for (const std::string& detail : reject->details) told += "; " + detail;
      return reject->reason;
    }
    Apply(ledger, std::get<Admit>(decision).delta);
    return FormatIds(*ledger.pods.at(uid).placements[0].cpus);
  }
  std::string Why() const {
    std::string out;
    for (const TraceStep& step : trace.steps()) out += step.text + "\n";
    return out;
  }

  Node node;
  Ledger ledger;
  Trace trace;
  std::string told;
};

TEST_F(OwnOptionsTest, PackFillsANodeBeforeTheNextAndSpreadBalancesThem) {
  Use("numa=pack", "single-numa-node");
  EXPECT_EQ(Add("a", 2), "2-3") << "node 0 has one CPU less to give";
  EXPECT_EQ(Add("b", 2), "4-5");
  Use("numa=spread", "single-numa-node");
  EXPECT_EQ(Add("a", 2), "8-9");
  EXPECT_THAT(Why(), HasSubstr("of equally few, the emptiest won"));
  EXPECT_EQ(Add("b", 2), "2-3");
  EXPECT_EQ(Add("c", 2), "10-11");
  Use("numa=spread", "none");
  EXPECT_EQ(Add("a", 2), "8-9") << "without alignment the order of the choice decides";
}

TEST_F(OwnOptionsTest, TheEndDecidesAmongEqualOnes) {
  Use("end=high", "restricted", Sixteen(), "3");
  EXPECT_EQ(Add("a", 2), "14-15");
  EXPECT_THAT(Why(), HasSubstr("of equally few, the highest won"));
  Use("end=low", "restricted", Sixteen(), "3");
  EXPECT_EQ(Add("a", 2), "0-1");
}

TEST_F(OwnOptionsTest, StrictL3GoesToTheNodeThatHasAGroupAndRefusesWhereNoneHas) {
  for (const char* policy : {"single-numa-node", "best-effort", "none"}) {
    Use("l3=strict", policy);
    EXPECT_EQ(Add("a", 2), "2-3") << policy;
    EXPECT_EQ(Add("b", 3), "4-6") << policy;
    EXPECT_EQ(Add("c", 3), "8-10") << policy;
    EXPECT_EQ(Add("d", 3), "12-14") << policy << ": 7, 11 and 15 are left beside them";
    const std::string reason = Add("e", 3);
    EXPECT_EQ(reason, policy == std::string("single-numa-node") ? "TopologyAffinityError" : "L3AlignmentError");
    EXPECT_THAT(told, HasSubstr("3 CPUs of one L3 group asked, the most that are free in one are 1"));
    EXPECT_EQ(Add("f", 1), "1") << policy;
  }
}

TEST_F(OwnOptionsTest, ARequestThatIsLargerThanAGroupMayBeAcross) {
  Use("l3=strict", "none");
  EXPECT_EQ(Add("a", 6), "2-7");
}

TEST_F(OwnOptionsTest, AKindOfCoreIsPreferredAsLongAsItHasAll) {
  Machine hybrid = Sixteen();
  for (NumaNode& n : hybrid.nodes)
    for (Core& core : n.cores)
      core.kind = Raw(core.threads.front()) % 8 < 4 ? CoreKind::kPerformance : CoreKind::kEfficiency;
  Use("kind=efficiency", "none", hybrid);
  EXPECT_EQ(Add("a", 2), "4-5");
  EXPECT_EQ(Add("b", 6), "6-7,12-15");
  EXPECT_EQ(Add("c", 1), "1") << "none of that kind is left";
  Use("kind=performance", "none", hybrid);
  EXPECT_EQ(Add("a", 4), "2-3,8-9") << "a node's three are too few by themselves";
}

TEST_F(OwnOptionsTest, IsolatedCpusArePreferredRequiredOrAvoided) {
  Machine machine = Sixteen();
  machine.isolated = Cpus("6-7");
  machine.nohz_full = Cpus("6-7,14");
  Use("isolated=prefer", "none", machine);
  EXPECT_EQ(Add("a", 3), "6-7,14");
  EXPECT_EQ(Add("b", 1), "1") << "none is left";
  Use("isolated=prefer", "none", machine);
  EXPECT_EQ(Add("a", 4), "2-5") << "three are too few, and no mixture is better than none";
  Use("isolated=require", "restricted", machine);
  EXPECT_EQ(Add("a", 2), "6-7");
  EXPECT_EQ(Add("b", 2), "TopologyAffinityError");
  Use("isolated=require", "none", machine);
  EXPECT_EQ(Add("a", 4), "IsolatedCPUsError");
  EXPECT_EQ(told, "4 isolated CPUs required, 3 are free");
  EXPECT_EQ(Add("b", 3), "6-7,14") << "they are just enough";
  Use("isolated=avoid", "none", machine);
  EXPECT_EQ(Add("a", 4), "2-5");
  EXPECT_EQ(Add("b", 8), "1,8-13,15") << "those that are not isolated are just enough";
}

TEST_F(OwnOptionsTest, OfEquallyFewNodesThoseWithEnoughPreferredCpusComeFirst) {
  Machine machine = Sixteen();
  machine.isolated = Cpus("7,12-15");
  for (const char* const policy : {"single-numa-node", "restricted", "best-effort"}) {
    Use("isolated=prefer", policy, machine);
    EXPECT_EQ(Add("a", 2), "12-13") << policy;
    EXPECT_THAT(Why(), HasSubstr("of equally few, one with enough preferred CPUs won"));
    EXPECT_EQ(Add("b", 2), "14-15") << policy;
    EXPECT_EQ(Add("c", 2), "2-3") << policy << ": one isolated CPU is left, on the first node, and is too few";
    EXPECT_EQ(Add("d", 1), "7") << policy;
    Use("isolated=avoid", policy, machine);
    EXPECT_EQ(Add("a", 4), "2-5") << policy;
    EXPECT_EQ(Add("b", 3), "8-10") << policy << ": the first node has two that are not isolated";
  }
  Use("isolated=prefer,numa=spread", "single-numa-node", machine);
  EXPECT_EQ(Add("a", 1), "12") << "preferred CPUs go before the emptiest node";
  Use("isolated=prefer,numa=spread", "single-numa-node", Sixteen());
  EXPECT_EQ(Add("a", 2), "8-9") << "nothing is isolated";
}

TEST_F(OwnOptionsTest, IsolatedCpusAreKeptOutOfThePoolAndComeBackApartFromIt) {
  Machine machine = Sixteen();
  machine.isolated = Cpus("6-7,14");
  KubeletConfiguration config = StaticConfig();
  auto made = Node::Make(machine, config, {.own = {.cpu = {}, .isolated_apart = true, .pods = {}}});
  ASSERT_TRUE(made) << made.error().message;
  node = *made;
  ledger = node.EmptyLedger();
  const CpuSet pool = Cpus("0-5,8-13,15");
  EXPECT_EQ(ledger.shared, pool);
  EXPECT_EQ(Add("a", 2), "6-7");
  EXPECT_EQ(ledger.shared, pool);
  EXPECT_EQ(Add("b", 2), "2-3") << "one isolated CPU is too few";
  EXPECT_EQ(Add("c", 1), "14");
  EXPECT_EQ(ledger.shared, pool - Cpus("2-3"));
  const NodeFacts facts = FactsOf(machine, config, node.reserved_cpus(), {}, node.apart_cpus());
  EXPECT_EQ(BrokenPromises(facts, FactsOf(ledger, {"a", "b", "c"})), std::vector<std::string>());
  EXPECT_EQ(Contradictions(ledger), std::vector<std::string>());
  for (const char* uid : {"a", "b", "c"}) Apply(ledger, Release(node, ledger, uid, nullptr));
  EXPECT_EQ(ledger.shared, pool);
  EXPECT_EQ(Add("d", 3), "6-7,14");
}

TEST_F(OwnOptionsTest, NothingIsKeptApartIfNothingWouldBeLeftForThePool) {
  Machine machine = Sixteen();
  machine.isolated = Cpus("1-15");
  KubeletConfiguration config = StaticConfig();
  const EngineOptions apart{.own = {.cpu = {}, .isolated_apart = true, .pods = {}}};
  EXPECT_TRUE(Node::Make(machine, config, apart)) << "CPU 0 is left";
  config.cpu_manager_policy_options["strict-cpu-reservation"] = "true";
  const auto made = Node::Make(machine, config, apart);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message, HasSubstr("isolatedCpus: the kernel isolates CPUs 1-15, none would be left"));
}

/// Brute force: a request of strict L3 is admitted exactly where one group has as many free CPUs, or none is as large.
TEST_F(OwnOptionsTest, StrictL3AdmitsExactlyWhatAGroupHolds) {
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto below = [&](std::size_t n) { return static_cast<int>(random() % n); };
    constexpr const char* kPolicies[] = {"none", "best-effort", "restricted", "single-numa-node"};
    const Machine machine = MakeMachine({.nodes_per_socket = 1 + below(3),
                                         .cores_per_node = 4,
                                         .threads = 1 + below(2),
                                         .adjacent = true,
                                         .hugepages = {},
                                         .cores_per_uncore = 1 + below(2),
                                         .offline = {}});
    constexpr const char* kEnds[] = {"l3=strict", "l3=strict,end=high", "l3=strict,numa=spread"};
    Use(kEnds[below(3)], kPolicies[below(4)], machine);
    std::vector<std::string> there;
    for (int step = 0; step < 30; ++step) {
      if (!there.empty() && below(3) == 0) {
        Apply(ledger, Release(node, ledger, there.back(), nullptr));
        there.pop_back();
        continue;
      }
      const int cpus = 1 + below(5);
      const CpuSet free = ledger.shared - node.reserved_cpus();
      int most = 0;
      int largest = 0;
      for (const Unit& group : node.tables().topology.units(Level::kUncore)) {
        most = std::max(most, group.cpus.CountCommon(free));
        largest = std::max(largest, group.cpus.Count());
      }
      if (cpus > largest) continue;
      const std::string uid = "p" + std::to_string(step);
      const std::string answer = Add(uid, cpus);
      const bool admitted = ledger.pods.contains(uid);
      ASSERT_EQ(admitted, cpus <= most) << answer << ": " << told;
      if (!admitted) continue;
      there.push_back(uid);
      int groups = 0;
      for (const Unit& group : node.tables().topology.units(Level::kUncore))
        groups += group.cpus.Intersects(Cpus(answer)) ? 1 : 0;
      ASSERT_EQ(groups, 1) << answer;
    }
  }
}

}  // namespace
}  // namespace berth::allocator
