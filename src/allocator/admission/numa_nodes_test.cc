// Pods that are kept to NUMA nodes by annotation: rules/own#nodes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "allocator/engine.h"
#include "allocator/testing/builders.h"

namespace berth::allocator {
namespace {

using allocator::testing::Cpus;
using allocator::testing::MakeContainer;
using allocator::testing::MakeMachine;
using allocator::testing::MakePod;
using allocator::testing::PinMemory;
using allocator::testing::StaticConfig;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Two sockets, each a NUMA node of 8 CPUs and 10 GiB: 0-7 and 8-15. CPU 0 is reserved.
class NumaNodesTest : public ::testing::Test {
 protected:
  static Node NodeWith(const KubeletConfiguration& config) {
    PodPolicy all;
    all.name = "all";
    all.namespaces = all.numa_nodes = all.cpus = {"*"};
    auto node = Node::Make(MakeMachine({.sockets = 2, .adjacent = true}), config,
                           {.whole_cores = true, .own = {.cpu = {}, .pods = {all}}});
    BERTH_CHECK(node.has_value());
    return *std::move(node);
  }
  static KubeletConfiguration Config(const std::string& topology_policy, bool pinned = false) {
    KubeletConfiguration config = StaticConfig();
    config.topology_manager_policy = topology_policy;
    if (pinned) PinMemory(config);
    return config;
  }
  void Use(const KubeletConfiguration& config) {
    node_ = NodeWith(config);
    ledger_ = node_.EmptyLedger();
  }
  static Pod Kept(const std::string& uid, const std::string& nodes, const std::string& cpu,
                  const std::string& memory = "1Mi") {
    Pod out = MakePod(uid, {MakeContainer("c", {{"cpu", cpu}, {"memory", memory}})});
    if (!nodes.empty()) out.annotations["berth.dev/numa-nodes"] = nodes;
    return out;
  }
  /// The placement, which counts from now on; a failure when there is none.
  Placement Add(const Pod& pod) {
    const Decision decision = Decide(node_, ledger_, pod, {}, nullptr);
    const auto* const admit = std::get_if<Admit>(&decision);
    if (admit == nullptr) ADD_FAILURE() << std::get<Reject>(decision).message;
    if (admit == nullptr) return {};
    Apply(ledger_, admit->delta);
    return ledger_.pods.at(pod.uid).placements.front();
  }
  Reject Refused(const Pod& pod) const {
    const Decision decision = Decide(node_, ledger_, pod, {}, nullptr);
    const auto* const reject = std::get_if<Reject>(&decision);
    EXPECT_NE(reject, nullptr);
    return reject == nullptr ? Reject{} : *reject;
  }

  Node node_ = NodeWith(Config("none"));
  Ledger ledger_ = node_.EmptyLedger();
};

TEST_F(NumaNodesTest, CpusOfItsOwnAreOfTheNodeWhateverThePolicy) {
  for (const char* policy : {"none", "best-effort", "restricted", "single-numa-node"}) {
    SCOPED_TRACE(policy);
    Use(Config(policy));
    EXPECT_EQ(Add(Kept("other", "", "2")).cpus, Cpus("2-3"));
    const Placement place = Add(Kept("p", "1", "3"));
    EXPECT_EQ(place.cpus, Cpus("8-10"));
    EXPECT_EQ(place.nodes, NodeSet{NumaId{1}});
    EXPECT_EQ(MemoryNodes(place), NodeSet{NumaId{1}}) << "though nobody books memory";
    Apply(ledger_, Release(node_, ledger_, "p", nullptr));
    Apply(ledger_, Release(node_, ledger_, "other", nullptr));
    EXPECT_EQ(ledger_.shared, Cpus("0-15"));
  }
}

TEST_F(NumaNodesTest, ThoseOfOtherNodesDoNotCount) {
  Use(Config("restricted"));
  Add(Kept("a", "1", "6"));
  const Reject reject = Refused(Kept("b", "1", "3"));
  EXPECT_EQ(reject.reason, "TopologyAffinityError");
  EXPECT_THAT(reject.details, ElementsAre(HasSubstr("3 CPUs asked, 2 CPUs of 8 CPUs free on node 1")));
  EXPECT_EQ(Add(Kept("b", "", "3")).cpus, Cpus("1-3"));
  Use(Config("none"));
  EXPECT_EQ(Refused(Kept("c", "1", "9")).reason, "UnexpectedAdmissionError");
}

TEST_F(NumaNodesTest, SeveralNodesAreOneRoom) {
  Use(Config("restricted"));
  EXPECT_EQ(Add(Kept("a", "0-1", "9")).cpus->Count(), 9) << "two nodes are needed, and are preferred";
  EXPECT_EQ(Refused(Kept("b", "1", "9")).reason, "TopologyAffinityError");
}

TEST_F(NumaNodesTest, BookedMemoryIsOfTheNode) {
  for (const char* policy : {"none", "best-effort", "restricted"}) {
    SCOPED_TRACE(policy);
    Use(Config(policy, true));
    const Placement place = Add(Kept("p", "1", "2", "4Gi"));
    EXPECT_EQ(MemoryNodes(place), NodeSet{NumaId{1}});
    EXPECT_EQ(ledger_.memory.at(NumaId{1}).types.at("memory").free, GiB(6));
    EXPECT_EQ(ledger_.memory.at(NumaId{0}).types.at("memory").free, GiB(9));
    const Reject reject = Refused(Kept("q", "1", "2", "7Gi"));
    EXPECT_THAT(reject.details, ElementsAre(HasSubstr("free on node 1")));
    EXPECT_EQ(MemoryNodes(Add(Kept("q", "", "2", "7Gi"))), NodeSet{NumaId{0}});
  }
}

TEST_F(NumaNodesTest, InTheSharedPoolItRunsOnTheNodesPart) {
  const Placement place = Add(Kept("p", "1", "500m"));
  EXPECT_EQ(place.cpus, std::nullopt);
  EXPECT_EQ(PartOfPool(place.node_cpus, ledger_.shared), Cpus("8-15"));
  Add(Kept("a", "1", "6"));
  EXPECT_EQ(PartOfPool(place.node_cpus, ledger_.shared), Cpus("14-15"));
  Add(Kept("b", "1", "2"));
  EXPECT_EQ(PartOfPool(place.node_cpus, ledger_.shared), Cpus("0-7")) << "nothing is left of it there";
  EXPECT_EQ(PartOfPool({}, ledger_.shared), Cpus("0-7"));
}

TEST_F(NumaNodesTest, WhatCannotBeIsRefusedWithTheReason) {
  EXPECT_THAT(Refused(Kept("p", "5", "1")).message, HasSubstr("this machine has no NUMA node 5 (it has 0-1)"));
  EXPECT_THAT(Refused(Kept("p", "one", "1")).message, HasSubstr("berth.dev/numa-nodes: "));
  EXPECT_THAT(Refused(Kept("p", " ", "1")).message, HasSubstr("names no node"));
  Pod mixed = Kept("p", "1", "2");
  mixed.annotations["berth.dev/cpus"] = "1 exclusive + shared";
  EXPECT_THAT(Refused(mixed).message, HasSubstr("not together with the shared pool beside"));
}

TEST_F(NumaNodesTest, TheAnswerSaysWhichNodes) {
  Trace trace;
  ASSERT_TRUE(std::holds_alternative<Admit>(Decide(node_, ledger_, Kept("p", "1", "2"), {}, &trace)));
  std::string told;
  for (const TraceStep& step : trace.steps()) told += step.text + "\n";
  EXPECT_THAT(told, HasSubstr("CPUs and memory of NUMA nodes 1; rule \"all\" of podPolicies lets it"));
}

TEST_F(NumaNodesTest, WhereTheRuleDoesNotNameTheNodeItIsRefused) {
  PodPolicy one;
  one.name = "one";
  one.namespaces = {"*"};
  one.numa_nodes = {"1"};
  node_ =
      *Node::Make(MakeMachine({.sockets = 2, .adjacent = true}), Config("none"), {.own = {.cpu = {}, .pods = {one}}});
  Add(Kept("p", "1", "2"));
  EXPECT_THAT(Refused(Kept("q", "0-1", "2")).message,
              HasSubstr("rule \"one\" of podPolicies does not allow NUMA node 0 (it allows 1)"));
}

/// Kept to a node, a pod has what it would have if somebody had all CPUs of the others.
TEST_F(NumaNodesTest, AreThePlacesOfAMachineWhoseOtherNodesAreTaken) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Use(Config(random() % 2 == 0 ? "none" : "best-effort"));
    for (int step = 0; step < 12; ++step) {
      const std::string uid = "p" + std::to_string(step);
      const std::string cpu = std::to_string(1 + random() % 4);
      const std::uint64_t kept = random() % 3;  // 2: to none
      const Pod pod = Kept(uid, kept == 2 ? "" : std::to_string(kept), cpu);
      const Decision mine = Decide(node_, ledger_, pod, {}, nullptr);
      if (kept != 2) {
        Ledger taken = ledger_;
        taken.shared &= kept == 0 ? Cpus("0-7") : Cpus("0,8-15");
        const Decision its = Decide(node_, taken, Kept(uid, "", cpu), {}, nullptr);
        ASSERT_EQ(mine.index(), its.index());
        if (const auto* admit = std::get_if<Admit>(&its)) {
          EXPECT_EQ(std::get<Admit>(mine).delta.put->placements.front().cpus,
                    admit->delta.put->placements.front().cpus);
        }
      }
      if (const auto* admit = std::get_if<Admit>(&mine)) Apply(ledger_, admit->delta);
    }
  }
}

}  // namespace
}  // namespace berth::allocator
