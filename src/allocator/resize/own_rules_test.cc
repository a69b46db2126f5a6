// Resizes of pods that are placed by rules of their own, and on nodes with options of Berth's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "allocator/engine.h"
#include "allocator/testing/builders.h"

namespace berth::allocator {
namespace {

using testing::Cpus;
using ::testing::HasSubstr;
using testing::MakeContainer;
using testing::MakeMachine;
using testing::MakePod;
using testing::StaticConfig;

/// Two nodes of two L3 groups of two cores of two threads: groups 0-3, 4-7, 8-11, 12-15. CPU 0 is reserved.
struct ResizeByRulesTest : ::testing::Test {
  void Use(const OwnRules& own, const std::string& policy = "none", const std::string& isolated = "") {
    Machine machine =
        MakeMachine({.nodes_per_socket = 2, .adjacent = true, .hugepages = {}, .cores_per_uncore = 2, .offline = {}});
    machine.isolated = Cpus(isolated);
    KubeletConfiguration config = StaticConfig();
    config.topology_manager_policy = policy;
    auto made = Node::Make(std::move(machine), config, {.whole_cores = true, .own = own});
    BERTH_CHECK(made.has_value());
    node = *std::move(made);
  }
  void Options(const std::string& words, const std::string& policy = "none", const std::string& isolated = "") {
    Use({.cpu = *ParseCpuWishes(words), .pods = {}}, policy, isolated);
    ledger = node.EmptyLedger();
  }
  static OwnRules Everything() {
    PodPolicy rule;
    rule.name = "all";
    rule.namespaces = rule.topology_policies = rule.topology_scopes = rule.cpu_options = rule.cpus = {"*"};
    return {.cpu = {}, .pods = {rule}};
  }
  static Pod Plain(const std::string& uid, int cpus) {
    return MakePod(uid, {MakeContainer("c", {{"cpu", std::to_string(cpus)}, {"memory", "1Mi"}})});
  }
  /// Burstable: `request` CPUs, some of them its own by annotation.
  static Pod Wishing(const std::string& uid, const std::string& wish, int request = 6) {
    Pod out = Plain(uid, request);
    out.containers[0].resources.limits.clear();
    out.annotations["berth.dev/cpus"] = wish;
    return out;
  }
  std::string Take(const Decision& decision, const std::string& uid) {
    if (const auto* reject = std::get_if<Reject>(&decision)) return reject->reason + ": " + reject->message;
    Apply(ledger, std::get<Admit>(decision).delta);
    const Placement& place = ledger.pods.at(uid).placements[0];
    if (!place.cpus) return "shared";
    return FormatIds(*place.cpus) + (place.mixed ? " + shared" : "");
  }
  std::string Admitted(const Pod& pod) { return Take(Decide(node, ledger, pod, {}, nullptr), pod.uid); }
  std::string Resized(const Pod& pod) { return Take(Resize(node, ledger, pod, {}, nullptr), pod.uid); }

  Node node;
  Ledger ledger;
};

TEST_F(ResizeByRulesTest, AMixedContainerGetsAndGivesBackWhatItsAnnotationSays) {
  Use(Everything());
  ledger = node.EmptyLedger();
  ASSERT_EQ(Admitted(Wishing("a", "2 exclusive + shared")), "2-3 + shared");
  EXPECT_EQ(Resized(Wishing("a", "4 exclusive + shared")), "1-4 + shared");
  EXPECT_EQ(ledger.pods.at("a").placements[0].promised, Cpus("2-3"));
  EXPECT_EQ(Resized(Wishing("a", "4 exclusive + shared", 12)), "1-4 + shared") << "its request is another thing";
  EXPECT_EQ(Resized(Wishing("a", "2 exclusive + shared", 12)), "2-3 + shared");
  EXPECT_EQ(ledger.shared, Cpus("0-1,4-15"));
  EXPECT_EQ(Resized(Wishing("a", "2 exclusive + shared", 1)),
            "Infeasible: berth.dev/cpus: container \"c\" asks for 2 exclusive CPUs and requests 1: request at least as "
            "many");
}

TEST_F(ResizeByRulesTest, TheShareOfARuleHoldsForWhatGrows) {
  OwnRules own = Everything();
  own.pods[0].max_cpus = 4;
  Use(own);
  ledger = node.EmptyLedger();
  ASSERT_EQ(Admitted(Wishing("a", "2 exclusive")), "2-3");
  ASSERT_EQ(Admitted(Wishing("b", "1 exclusive")), "1");
  EXPECT_EQ(Resized(Wishing("a", "4 exclusive")),
            "Deferred: rule \"all\" of podPolicies allows 4 exclusive CPUs for all its pods together");
  EXPECT_EQ(Resized(Wishing("a", "5 exclusive")).substr(0, 11), "Infeasible:");
  Apply(ledger, Release(node, ledger, "b", nullptr));
  EXPECT_EQ(Resized(Wishing("a", "4 exclusive")), "1-4");
  own.pods[0].max_cpus = 1;
  Use(own);
  EXPECT_EQ(Resized(Wishing("a", "3 exclusive")), "1-3") << "less is never too much";
}

TEST_F(ResizeByRulesTest, WhereNoRuleLetsItAnyMoreItIsRefusedWithTheReason) {
  Use(Everything());
  ledger = node.EmptyLedger();
  ASSERT_EQ(Admitted(Wishing("a", "2 exclusive")), "2-3");
  Use({});
  EXPECT_THAT(Resized(Wishing("a", "2 exclusive", 4)),
              HasSubstr("Infeasible: the pod asks for placement by annotation, and this node has no podPolicies"));
}

TEST_F(ResizeByRulesTest, APodsOwnPolicyAndScopeAlignWhatIsAdded) {
  Use(Everything(), "best-effort");
  ledger = node.EmptyLedger();
  Pod pod = Plain("a", 4);
  pod.annotations["berth.dev/topology-policy"] = "single-numa-node";
  ASSERT_EQ(Admitted(pod), "2-5");
  Pod more = Plain("a", 9);
  more.annotations = pod.annotations;
  EXPECT_EQ(Resized(more), "Infeasible: Resources cannot be allocated with Topology locality");
  EXPECT_EQ(Admitted(Plain("b", 4)), "8-11") << "beside the three that are left of node 0";
  EXPECT_EQ(Resized(Plain("b", 9)), "1,8-15") << "the node's policy lets it";
}

TEST_F(ResizeByRulesTest, StrictL3GrowsWithinItsGroupOrNotAtAll) {
  for (const char* policy : {"none", "best-effort", "restricted", "single-numa-node"}) {
    SCOPED_TRACE(policy);
    Options("l3=strict", policy);
    ASSERT_EQ(Admitted(Plain("a", 2)), "2-3");
    ASSERT_EQ(Admitted(Plain("b", 2)), "4-5");
    EXPECT_EQ(Resized(Plain("b", 4)), "4-7");
    EXPECT_EQ(Resized(Plain("a", 3)), "1-3");
    EXPECT_EQ(Resized(Plain("a", 4)).substr(0, 11), "Infeasible:") << "CPU 0 of its group is reserved";
    EXPECT_EQ(Resized(Plain("b", 3)), "4-6");
    ASSERT_EQ(Admitted(Plain("c", 1)), "7");
    EXPECT_EQ(Resized(Plain("b", 4)).substr(0, 9), "Deferred:") << "the rest of its group is somebody's";
  }
  Options("l3=strict");
  ASSERT_EQ(Admitted(Plain("a", 2)), "2-3");
  EXPECT_EQ(Resized(Plain("a", 4)),
            "Infeasible: L3 Alignment Error: 2 CPUs more asked of the L3 group of CPUs 2-3, 1 CPU of it is free");
}

TEST_F(ResizeByRulesTest, StrictL3LeavesOneGroupToWhatShrinksToItsSize) {
  Options("l3=strict");
  ASSERT_EQ(Admitted(Plain("a", 6)), "2-7") << "larger than a group: across";
  EXPECT_EQ(Resized(Plain("a", 7)), "1-7");
  EXPECT_EQ(Resized(Plain("a", 4)), "4-7");
  EXPECT_EQ(ledger.shared, Cpus("0-3,8-15"));
  Pod kept = Plain("a", 2);
  kept.annotations["berth.dev/keep-cpus"] = "c=6-7";
  EXPECT_EQ(Resized(kept), "6-7");
  ASSERT_EQ(Admitted(Plain("b", 5)), "1-5");
  kept = Plain("b", 2);
  kept.annotations["berth.dev/keep-cpus"] = "c=3-4";
  EXPECT_EQ(Resized(kept),
            "Infeasible: annotation berth.dev/keep-cpus names CPUs 3-4, which are of more than one L3 "
            "group (l3=strict)");
}

TEST_F(ResizeByRulesTest, CpusThatAreTakenSpreadOverCoresAreAddedSo) {
  Options("cores=spread");
  ASSERT_EQ(Admitted(Plain("a", 2)), "2,4");
  EXPECT_EQ(Resized(Plain("a", 3)), "2,4,6");
}

TEST_F(ResizeByRulesTest, WhatIsOnIsolatedCpusGoesOnThereAsLongAsTheyHaveAll) {
  OwnRules own;
  own.isolated_apart = true;
  Use(own, "none", "4-7,14");
  ledger = node.EmptyLedger();
  const CpuSet pool = ledger.shared;
  ASSERT_EQ(pool, Cpus("0-3,8-13,15"));
  ASSERT_EQ(Admitted(Plain("a", 2)), "4-5");
  EXPECT_EQ(Resized(Plain("a", 4)), "4-7");
  EXPECT_EQ(ledger.shared, pool) << "they come from beside it";
  EXPECT_EQ(Resized(Plain("a", 6)), "2-7") << "the nearest, where isolated ones are too few";
  EXPECT_EQ(ledger.shared, pool - Cpus("2-3"));
  EXPECT_EQ(Resized(Plain("a", 2)), "4-5");
  EXPECT_EQ(ledger.shared, pool) << "and go back there";
  EXPECT_EQ(Admitted(Plain("b", 3)), "6-7,14");
}

/// Three nodes of four cores of two threads: 0-7, 8-15, 16-23.
TEST_F(ResizeByRulesTest, ANodeIsWonForItsPreferredCpusOnlyByWhatGrowsOntoThem) {
  const auto use = [&](const std::string& isolated) {
    Machine machine = MakeMachine({.nodes_per_socket = 3, .adjacent = true, .hugepages = {}, .offline = {}});
    machine.isolated = Cpus(isolated);
    KubeletConfiguration config = StaticConfig();
    config.topology_manager_policy = "restricted";
    auto made =
        Node::Make(std::move(machine), config, {.own = {.cpu = *ParseCpuWishes("isolated=prefer"), .pods = {}}});
    ASSERT_TRUE(made);
    node = *std::move(made);
    ledger = node.EmptyLedger();
  };
  use("20-23");
  ASSERT_EQ(Admitted(Plain("a", 7)), "1-7") << "isolated ones are too few";
  EXPECT_EQ(Resized(Plain("a", 10)), "1-10") << "it is on others, and goes on on others";
  use("4-7,16-23");
  ASSERT_EQ(Admitted(Plain("a", 4)), "4-7");
  EXPECT_EQ(Resized(Plain("a", 10)), "4-7,16-21") << "it is on isolated ones, and node 2 has the rest";
}

TEST_F(ResizeByRulesTest, WholeCoresOfPreferredCpusAreAddedAndPartsOfCoresDoNotCount) {
  for (const auto& [isolated, grown] :
       std::map<std::string, std::string>{{"4-5,7,14-15", "4-5,14-15"}, {"4-5,7,14", "4-7"}}) {
    Options("isolated=prefer,full-pcpus-only", "none", isolated);
    if (isolated.ends_with("15")) {
      ASSERT_EQ(Admitted(Plain("b", 2)), "14-15");
    }
    ASSERT_EQ(Admitted(Plain("a", 2)), "4-5");
    Apply(ledger, Release(node, ledger, "b", nullptr));
    EXPECT_EQ(Resized(Plain("a", 4)), grown) << isolated;
  }
}

TEST_F(ResizeByRulesTest, RequiredIsolatedCpusAreAllThatIsAdded) {
  Options("isolated=require", "none", "4-7");
  ASSERT_EQ(Admitted(Plain("a", 2)), "4-5");
  EXPECT_EQ(Resized(Plain("a", 4)), "4-7");
  EXPECT_EQ(Resized(Plain("a", 5)).substr(0, 11), "Infeasible:");
}

}  // namespace
}  // namespace berth::allocator
