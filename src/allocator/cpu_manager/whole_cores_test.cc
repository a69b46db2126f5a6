// full-pcpus-only on machines whose cores are not all alike: nobody gets a part of a core.
#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <variant>

#include "allocator/decision/decide.h"
#include "allocator/node/node_tables.h"
#include "allocator/testing/builders.h"

namespace berth::allocator {
namespace {

using testing::MakeContainer;
using testing::MakeMachine;
using testing::MakePod;
using testing::Shape;
using testing::StaticConfig;

KubeletConfiguration FullCores(const std::string& reserved, const std::string& policy) {
  KubeletConfiguration out = StaticConfig(reserved);
  out.cpu_manager_policy_options["full-pcpus-only"] = "true";
  out.topology_manager_policy = policy;
  return out;
}

Pod Asking(const std::string& uid, int cpus) {
  return MakePod(uid, {MakeContainer("c", {{"cpu", std::to_string(cpus)}, {"memory", "1Mi"}})});
}

/// What the pod is given, or why not.
std::string GivenCores(const Node& node, Ledger& ledger, const Pod& pod) {
  const Decision decision = Decide(node, ledger, pod, {}, nullptr);
  if (const auto* reject = std::get_if<Reject>(&decision)) return reject->reason + ": " + reject->message;
  Apply(ledger, std::get<Admit>(decision).delta);
  return FormatIds(*ledger.pods.at(pod.uid).placements[0].cpus);
}

TEST(WholeCoresTest, CoresWithAReservedThreadAreLeftForTheNextNodes) {
  const Machine machine = MakeMachine({.sockets = 2, .cores_per_node = 3, .adjacent = true});
  const KubeletConfiguration config = FullCores("0,5", "single-numa-node");
  const auto kubelet = Node::Make(machine, config, {.node_fit = false});
  const auto whole = Node::Make(machine, config, {.node_fit = false, .whole_cores = true});
  ASSERT_TRUE(kubelet && whole);
  Ledger ledger = kubelet->EmptyLedger();
  EXPECT_EQ(GivenCores(*kubelet, ledger, Asking("a", 4)), "1-4") << "the kubelet's formula";
  ledger = whole->EmptyLedger();
  EXPECT_EQ(GivenCores(*whole, ledger, Asking("a", 4)), "6-9");
  EXPECT_EQ(GivenCores(*whole, ledger, Asking("b", 2)), "2-3");
  EXPECT_EQ(GivenCores(*whole, ledger, Asking("c", 4)),
            "TopologyAffinityError: Resources cannot be allocated with Topology locality");
  EXPECT_EQ(GivenCores(*whole, ledger, Asking("d", 2)), "10-11");
}

TEST(WholeCoresTest, CoresOfOneAndTwoThreadsMakeUpAnyNumberThatTheyCan) {
  const Machine machine = MakeMachine({.cores_per_node = 4, .adjacent = true, .offline = CpuSet{CpuId{5}}});
  const auto node = Node::Make(machine, FullCores("0-1", "none"), {.node_fit = false, .whole_cores = true});
  ASSERT_TRUE(node) << node.error().message;
  Ledger ledger = node->EmptyLedger();
  EXPECT_EQ(GivenCores(*node, ledger, Asking("a", 3)), "2-4") << "a whole core and the one of one thread";
  EXPECT_EQ(GivenCores(*node, ledger, Asking("b", 1)),
            "SMTAlignmentError: SMT Alignment Error: no free whole cores make up exactly 1 CPUs");
  EXPECT_EQ(GivenCores(*node, ledger, Asking("c", 2)), "6-7");
}

TEST(WholeCoresPropertyTest, WhatIsGivenIsWholeAndOnRegularMachinesTheKubeletsChoice) {
  std::mt19937_64 rng(3);
  const auto roll = [&](unsigned n) { return static_cast<unsigned>(rng() % n); };
  int given = 0;
  for (int round = 0; round < 500; ++round) {
    Shape shape{.sockets = 1 + static_cast<int>(roll(2)), .cores_per_node = 2 + static_cast<int>(roll(4))};
    shape.adjacent = roll(2) == 0;
    const bool regular = roll(2) == 0;
    const unsigned cpus = static_cast<unsigned>(shape.sockets * shape.cores_per_node * 2);
    if (!regular)
      for (unsigned cpu = 1; cpu < cpus; ++cpu)
        if (roll(6) == 0) shape.offline.Insert(CpuId{cpu});
    const Machine machine = MakeMachine(shape);
    const std::string other = std::to_string(shape.adjacent ? 1 : cpus / 2);
    const KubeletConfiguration config = FullCores(
        regular ? "0," + other : "0", std::array{"none", "best-effort", "restricted", "single-numa-node"}[roll(4)]);
    const auto whole = Node::Make(machine, config, {.node_fit = false, .whole_cores = true});
    const auto kubelet = Node::Make(machine, config, {.node_fit = false});
    ASSERT_TRUE(whole && kubelet) << "round " << round;
    Ledger ledger = whole->EmptyLedger();
    for (int i = 0; i < 6; ++i) {
      const Pod pod = Asking("p" + std::to_string(i), 1 + static_cast<int>(roll(6)));
      const Decision decision = Decide(*whole, ledger, pod, {}, nullptr);
      if (regular) {
        ASSERT_EQ(decision, Decide(*kubelet, ledger, pod, {}, nullptr)) << "round " << round << ", pod " << i;
      }
      const auto* admit = std::get_if<Admit>(&decision);
      if (admit == nullptr) continue;
      Apply(ledger, admit->delta);
      ++given;
      const CpuSet& got = *ledger.pods.at(pod.uid).placements[0].cpus;
      ASSERT_EQ(got, whole->tables().topology.Whole(got, Level::kCore)) << "round " << round << ", pod " << i;
      ASSERT_FALSE(got.Intersects(whole->reserved_cpus()) || got.Intersects(ledger.shared)) << "round " << round;
    }
  }
  EXPECT_GT(given, 300);
}

}  // namespace
}  // namespace berth::allocator
