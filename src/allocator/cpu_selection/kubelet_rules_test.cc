// What later kubelets do otherwise, example by example: rules/versions.
#include "model/kubelet_rules.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "allocator/cpu_selection/take.h"
#include "allocator/engine.h"
#include "allocator/testing/builders.h"
#include "model/machine.h"

namespace berth::allocator {
namespace {

using testing::Cpus;
using testing::MakeContainer;
using testing::MakeMachine;

/// What 1.36, 1.37 and 1.38 take.
std::array<std::string, 3> TakenBy(const Machine& machine, std::string_view available, TakeRequest request) {
  const CpuTopology topology = *CpuTopology::Make(machine);
  request.available = Cpus(available);
  std::array<std::string, 3> out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    request.rules = KubeletRulesOf(kKubeletVersions[i]);
    const auto taken = TakeCpus(topology, request);
    out[i] = taken ? FormatIds(*taken) : "error: " + taken.error().message;
  }
  return out;
}

/// One socket, cores given thread by thread.
Machine WithCores(const std::vector<std::vector<unsigned>>& cores) {
  Machine machine;
  machine.nodes.emplace_back();
  for (const std::vector<unsigned>& threads : cores) {
    Core& core = machine.nodes[0].cores.emplace_back();
    core.core_id = threads.front();
    for (const unsigned cpu : threads) core.threads.push_back(CpuId{cpu});
  }
  testing::AddTotals(machine);
  return machine;
}

TEST(KubeletRulesTest, The136RulesAreTheDefault) {
  EXPECT_EQ(KubeletRulesOf(KubeletVersion::k1_36), KubeletRules());
  EXPECT_NE(KubeletRulesOf(KubeletVersion::k1_37), KubeletRulesOf(KubeletVersion::k1_36));
  EXPECT_NE(KubeletRulesOf(KubeletVersion::k1_38), KubeletRulesOf(KubeletVersion::k1_37));
}

TEST(KubeletRulesTest, BySocketSpreadsOverNodesOfOneSocketEvenIfOthersWouldBeMoreEven) {
  const Machine machine =
      MakeMachine({.sockets = 2, .nodes_per_socket = 2, .cores_per_node = 14, .threads = 1});  // 0-13, 14-27, ...
  const std::array<std::string, 3> taken =
      TakenBy(machine, "1-55", {.num = 15, .distributed = true, .by_socket = true});
  EXPECT_EQ(taken[0], "14-21,28-34");
  EXPECT_EQ(taken[1], "28-35,42-48");
  EXPECT_EQ(taken[2], taken[1]);
  for (const std::string& without : TakenBy(machine, "1-55", {.num = 15, .distributed = true}))
    EXPECT_EQ(without, "14-21,28-34");
}

TEST(KubeletRulesTest, BySocketANodeWithLessThanTheEvenShareGivesWhatItHas) {
  const Machine machine = MakeMachine({.sockets = 2, .nodes_per_socket = 2, .cores_per_node = 8, .threads = 1});
  const std::array<std::string, 3> taken =
      TakenBy(machine, "6-23,31", {.num = 10, .distributed = true, .by_socket = true});
  EXPECT_EQ(taken[0], "8-12,16-20");  // 2 CPUs of node 0 are less than the share of 5
  EXPECT_EQ(taken[1], "6-15");
  EXPECT_EQ(taken[2], "6-15");
}

// Inferred (rules/versions): what an overwritten set of nodes has no room for.
TEST(KubeletRulesTest, AShareThatAnOverwrittenNodeDoesNotHaveIsCutAndThenPacked) {
  const Machine machine = MakeMachine({.sockets = 4, .nodes_per_socket = 2, .cores_per_node = 8, .threads = 1});
  const std::string free = "0-3,8-11,16-19,24-27,32-35,40-43,48,56-63";
  const std::array<std::string, 3> taken = TakenBy(machine, free, {.num = 30, .distributed = true});
  EXPECT_EQ(taken[0], "error: accounting error, not enough CPUs allocated, remaining: 4");
  EXPECT_EQ(Cpus(taken[1]).Count(), 30);
  EXPECT_TRUE(Cpus(taken[1]).IsSubsetOf(Cpus(free)));
  EXPECT_EQ(taken[2], "0-3,8-11,16-19,24-27,32-35,40-43,56-61");
}

TEST(KubeletRulesTest, From138OnTheBestNodesStayRemembered) {
  const Machine machine = MakeMachine({.sockets = 8, .cores_per_node = 4, .threads = 1});
  const std::array<std::string, 3> taken = TakenBy(machine, "0-31", {.num = 16, .distributed = true});
  EXPECT_EQ(taken[0], "0-11,28-31");
  EXPECT_EQ(taken[1], "0-11,28-31");
  EXPECT_EQ(taken[2], "0-15");
}

TEST(KubeletRulesTest, From138OnAsManyNodesAsTheHintNames) {
  const Machine machine = MakeMachine({.sockets = 4, .cores_per_node = 4, .threads = 1});
  const auto taken = [&](int num, int hinted) {
    return TakenBy(machine, "0-15", {.num = num, .distributed = true, .hinted_nodes = hinted});
  };
  EXPECT_EQ(taken(8, 4)[1], "0-7");
  EXPECT_EQ(taken(8, 4)[2], "0-1,4-5,8-9,12-13");
  EXPECT_EQ(taken(8, 0)[2], "0-7");
  EXPECT_EQ(taken(8, 5)[2], "0-7") << "more nodes than there are";
  EXPECT_EQ(taken(2, 3)[2], "0-1") << "more nodes than CPUs";
}

TEST(KubeletRulesTest, From138OnSpreadTakesOneCpuOfEachCoreInTurn) {
  const Machine machine = MakeMachine({.cores_per_node = 4, .adjacent = true});
  const auto taken = [&](int num) { return TakenBy(machine, "0-7", {.num = num, .spread = true}); };
  EXPECT_EQ(taken(2)[1], "0-1");
  EXPECT_EQ(taken(2)[2], "0,2");
  EXPECT_EQ(taken(4)[2], "0,2,4,6");
  EXPECT_EQ(taken(5)[2], "0-2,4,6");
  EXPECT_EQ(taken(7)[2], "0-6");
}

TEST(KubeletRulesTest, From138OnCoresCountAsFreeByTheirOwnSize) {
  const std::array<std::string, 3> cores = TakenBy(WithCores({{0, 1}, {2, 3}, {4}, {5}}), "1-3", {.num = 2});
  EXPECT_EQ(cores[1], "1-2") << "one CPU a core on average, so a core of two never counts as free";
  EXPECT_EQ(cores[2], "2-3");
}

TEST(KubeletRulesTest, ASearchThatKeepsAnOlderKubeletForeverEndsTheSameUnderAll) {
  const Machine machine = MakeMachine({.sockets = 4, .cores_per_node = 3});
  const std::array<std::string, 3> taken =
      TakenBy(machine, "1-2,4-5,7-8,10-11,12-23", {.num = 14, .distributed = true, .group = 2});
  EXPECT_EQ(Cpus(taken[0]).Count(), 14);
  EXPECT_EQ(taken[1], taken[0]);
  EXPECT_EQ(taken[2], taken[0]);
}

/// CPUs of each node that a container with 176 CPUs and 8 devices gets.
std::vector<int> OfEachNode(KubeletVersion version) {
  const Machine machine = MakeMachine({.sockets = 4, .cores_per_node = 64, .threads = 1});
  KubeletConfiguration config = testing::StaticConfig("0");
  config.cpu_manager_policy_options["distribute-cpus-across-numa"] = "true";
  config.topology_manager_policy = "best-effort";
  const auto node = Node::Make(machine, config, {.kubelet_version = version, .node_fit = false});
  if (!node) return {};
  Inputs inputs;
  for (unsigned i = 0; i < 8; ++i) {
    Device& device = inputs.devices["a.com/nic"].emplace_back();
    device.id = "d" + std::to_string(i);
    device.nodes.Insert(NumaId{i / 2});
  }
  const Pod pod = testing::MakePod("u", {MakeContainer("c", {{"cpu", "176"}, {"memory", "1Gi"}, {"a.com/nic", "8"}})});
  const Decision decision = Decide(*node, node->EmptyLedger(), pod, inputs, nullptr);
  const auto* const admitted = std::get_if<Admit>(&decision);
  if (admitted == nullptr) return {};
  const CpuSet cpus = admitted->delta.put->placements.front().cpus.value_or(CpuSet());
  std::vector<int> out;
  for (const NumaNode& numa : machine.nodes) out.push_back(CpusOfNode(machine, numa.id).CountCommon(cpus));
  return out;
}

TEST(KubeletRulesTest, APodWithDevicesOnAllFourNodesGetsCpusOfAllFourFrom138On) {
  EXPECT_EQ(OfEachNode(KubeletVersion::k1_36), (std::vector<int>{0, 59, 59, 58}));
  EXPECT_EQ(OfEachNode(KubeletVersion::k1_37), (std::vector<int>{0, 59, 59, 58}));
  EXPECT_EQ(OfEachNode(KubeletVersion::k1_38), (std::vector<int>{44, 44, 44, 44}));
}

}  // namespace
}  // namespace berth::allocator
