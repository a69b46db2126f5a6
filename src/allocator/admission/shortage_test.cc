// What explanations call short, against the ledger's own numbers.
#include "allocator/admission/shortage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "allocator/explain/explain.h"
#include "allocator/testing/builders.h"
#include "allocator/testing/random_node.h"

namespace berth::allocator {
namespace {

using testing::MakeContainer;
using testing::MakeMachine;
using testing::MakePod;
using testing::PinMemory;
using testing::PropertySteps;
using testing::Q;
using testing::RandomNode;
using testing::Shape;
using testing::StaticConfig;

/// Two nodes of 10 GiB with 256 huge pages of 2 MiB each, 1 GiB reserved on node 0; a GPU on each.
class ShortageTest : public ::testing::Test {
 protected:
  ShortageTest() { Align("restricted"); }
  /// An empty node under a topology policy.
  void Align(const std::string& policy) {
    Shape shape{.sockets = 2, .cores_per_node = 4};
    shape.hugepages = {{MiB(2), 256}};
    Take(shape, policy);
  }
  void Take(const Shape& shape, const std::string& policy) {
    KubeletConfiguration config = StaticConfig();
    PinMemory(config, "1Gi");
    config.topology_manager_policy = policy;
    auto node = Node::Make(MakeMachine(shape), config, {.node_fit = false});
    BERTH_CHECK(node.has_value());
    node_ = *std::move(node);
    ledger_ = node_.EmptyLedger();
    inputs_.devices["v.example/gpu"] = {{.id = "g0", .nodes = {NumaId{0}}}, {.id = "g1", .nodes = {NumaId{1}}}};
  }
  void Place(const std::string& uid, std::map<std::string, std::string> amounts) {
    amounts.emplace("cpu", "1");
    const Decision decision = Decide(node_, ledger_, MakePod(uid, {MakeContainer("c", amounts)}), inputs_, nullptr);
    ASSERT_TRUE(std::holds_alternative<Admit>(decision)) << uid;
    Apply(ledger_, std::get<Admit>(decision).delta);
  }
  /// "memory on 0: 3 of 9, memory on 1: ..." in MiB.
  std::string ShortFor(std::map<std::string, std::string> amounts) const {
    amounts.emplace("cpu", "1");
    const Explanation e = Explain(node_, ledger_, MakePod("asked", {MakeContainer("c", amounts)}), inputs_);
    EXPECT_TRUE(std::holds_alternative<Reject>(e.decision));
    std::string out;
    for (const Shortage& s : e.shortages) {
      EXPECT_EQ(s.missing, s.requested - s.free);
      out += (out.empty() ? "" : ", ") + s.resource + " on " + FormatIds(s.nodes) + ": " +
             std::to_string(s.free >> 20) + " of " + std::to_string(s.capacity >> 20);
    }
    return out;
  }

  Node node_;
  Ledger ledger_;
  Inputs inputs_;
};

TEST_F(ShortageTest, NamesTheWholeMachineWhereAllOfItIsNotEnough) {
  Place("a", {{"memory", "4Gi"}});
  EXPECT_EQ(ShortFor({{"memory", "16Gi"}}), "memory on 0-1: 14336 of 18432");
}

TEST_F(ShortageTest, NamesEveryNodeWhereOneWouldDo) {
  Place("a", {{"memory", "4Gi"}});
  Place("b", {{"memory", "8Gi"}});
  EXPECT_EQ(ShortFor({{"memory", "6Gi"}}), "memory on 0: 4608 of 8704, memory on 1: 1536 of 9728");
}

TEST_F(ShortageTest, NamesEveryNodeWhereOneCouldNeverDoButMust) {
  Align("single-numa-node");
  EXPECT_EQ(ShortFor({{"memory", "12Gi"}}), "memory on 0: 8704 of 8704, memory on 1: 9728 of 9728");
}

TEST_F(ShortageTest, NamesNodesThatAreEnoughTogetherButMayNotBeTiedTogether) {
  Place("a", {{"memory", "1Gi"}, {"v.example/gpu", "1"}});
  Place("b", {{"memory", "1Gi"}, {"v.example/gpu", "1"}});
  EXPECT_EQ(ShortFor({{"memory", "12Gi"}}), "memory on 0: 7680 of 8704, memory on 1: 8704 of 9728");
}

TEST_F(ShortageTest, NamesWhatEachNodeLacksWhereNoneHasAllTypes) {
  Place("a", {{"memory", "5Gi"}});
  Place("b", {{"memory", "4Gi"}, {"hugepages-2Mi", "512Mi"}});
  EXPECT_EQ(ShortFor({{"memory", "5Gi"}, {"hugepages-2Mi", "4Mi"}}),
            "memory on 0: 3584 of 8704, hugepages-2Mi on 1: 0 of 512");
}

TEST_F(ShortageTest, AGroupInUseIsOnePlace) {
  Align("best-effort");
  Place("a", {{"memory", "12Gi"}});
  EXPECT_EQ(ShortFor({{"memory", "7Gi"}}), "memory on 0-1: 6144 of 18432");
}

TEST_F(ShortageTest, ANodeInUseAloneIsOnePlaceAndTheUnusedNodesTogetherAnother) {
  Take({.sockets = 3, .cores_per_node = 4}, "restricted");
  Place("a", {{"memory", "1Gi"}});
  EXPECT_EQ(ShortFor({{"memory", "24Gi"}}), "memory on 0: 8192 of 9216, memory on 1-2: 20480 of 20480");
}

TEST_F(ShortageTest, HugePagesThatNoNodeHasAreShortAndMayBeLeftOut) {
  const Pod pod = MakePod("asked", {MakeContainer("c", {{"cpu", "1"}, {"memory", "1Gi"}, {"hugepages-1Gi", "1Gi"}})});
  const Explanation e = Explain(node_, ledger_, pod, inputs_);
  ASSERT_EQ(e.shortages.size(), 1U);
  EXPECT_EQ(e.shortages[0].resource, "hugepages-1Gi");
  EXPECT_EQ(e.shortages[0].capacity, 0);
  ASSERT_TRUE(e.nearest);
  EXPECT_EQ(e.nearest->changes[0].to, Quantity());
}

TEST_F(ShortageTest, WhatTheContainerTookItselfIsNotShort) {
  inputs_.devices["v.example/nic"] = {{.id = "n0", .nodes = {NumaId{0}}}};
  Align("none");
  const Explanation e = Explain(
      node_, ledger_,
      MakePod("asked",
              {MakeContainer("c", {{"cpu", "1"}, {"memory", "1Gi"}, {"v.example/gpu", "2"}, {"v.example/nic", "2"}})}),
      inputs_);
  ASSERT_EQ(e.shortages.size(), 1U);
  EXPECT_EQ(ShortageText(e.shortages[0]),
            "v.example/nic: 2 devices asked, 1 device of 1 device free on the whole machine (1 device short)");
}

TEST_F(ShortageTest, NamesWhatNoNodeHasWhereOthersFitOnOne) {
  const Explanation e = Explain(
      node_, ledger_, MakePod("asked", {MakeContainer("c", {{"cpu", "2"}, {"memory", "1Gi"}, {"v.example/gpu", "2"}})}),
      inputs_);
  ASSERT_EQ(e.shortages.size(), 2U);
  for (const Shortage& s : e.shortages) {
    EXPECT_EQ(s.resource, "v.example/gpu");
    EXPECT_EQ(s.missing, 1);
    EXPECT_EQ(s.nodes.Count(), 1);
  }
  const auto& reject = std::get<Reject>(e.decision);
  EXPECT_EQ(reject.details.back(),
            "policy restricted wants all resources on equally few nodes: cpu, memory fits on 1 node, v.example/gpu "
            "needs 2 nodes");
  inputs_.devices["v.example/gpu"].push_back({.id = "g2", .nodes = {NumaId{1}}});
  EXPECT_TRUE(std::holds_alternative<Admit>(Decide(
      node_, ledger_, MakePod("asked", {MakeContainer("c", {{"cpu", "2"}, {"memory", "1Gi"}, {"v.example/gpu", "2"}})}),
      inputs_, nullptr)));
}

TEST_F(ShortageTest, SingleNodeSaysWhetherOneResourceOrTheirCombinationIsTheReason) {
  Align("single-numa-node");
  const auto rule = [&](std::map<std::string, std::string> amounts) {
    const Explanation e = Explain(node_, ledger_, MakePod("asked", {MakeContainer("c", amounts)}), inputs_);
    return e.merges.empty() ? "" : e.merges[0].rule;
  };
  EXPECT_EQ(rule({{"cpu", "1"}, {"memory", "12Gi"}}), "some resource fits on no single node");
  inputs_.devices["v.example/nic"] = {{.id = "n0", .nodes = {NumaId{0}}}};
  EXPECT_EQ(rule({{"cpu", "1"}, {"memory", "9Gi"}, {"v.example/nic", "1"}}),
            "no single node is preferred by all resources");
}

/// Devices of one node (nullopt: of the machine) that no pod of the ledger has.
std::int64_t FreeDevices(const Ledger& ledger, const std::vector<Device>& devices, const Shortage& s) {
  std::int64_t out = 0;
  for (const Device& device : devices) {
    bool free = s.scope == Shortage::Scope::kMachine || device.nodes.Intersects(s.nodes);
    for (const auto& [uid, record] : ledger.pods)
      for (const Placement& placement : record.placements)
        for (const DeviceAssignment& given : placement.devices)
          if (given.resource == s.resource && std::ranges::find(given.ids, device.id) != given.ids.end()) free = false;
    out += free ? 1 : 0;
  }
  return out;
}

TEST(ShortagePropertyTest, EachDeviceToldIsShortAndWithSoManyMoreItIsNot) {
  std::mt19937_64 rng(11);
  const auto roll = [&](unsigned n) { return static_cast<unsigned>(rng() % n); };
  int seen = 0;
  for (int round = 0; round < 400; ++round) {
    KubeletConfiguration config = StaticConfig();
    config.topology_manager_policy = std::array{"none", "best-effort", "restricted", "single-numa-node"}[roll(4)];
    const auto node = Node::Make(MakeMachine({.sockets = 1 + static_cast<int>(roll(3)), .cores_per_node = 4}), config,
                                 {.node_fit = false});
    ASSERT_TRUE(node);
    const auto nodes = static_cast<unsigned>(node->machine().nodes.size());
    Inputs inputs;
    for (const char* resource : {"v.example/a", "v.example/b"})
      for (unsigned i = 0; i < 2 + roll(4); ++i)
        inputs.devices[resource].push_back({.id = "d" + std::to_string(i), .nodes = {NumaId{roll(nodes)}}});
    Ledger ledger = node->EmptyLedger();
    for (int i = 0; i < 6; ++i) {
      const Pod pod =
          MakePod("p" + std::to_string(i), {MakeContainer("c", {{"cpu", std::to_string(1 + roll(4))},
                                                                {"memory", "1Mi"},
                                                                {"v.example/a", std::to_string(roll(3))},
                                                                {"v.example/b", std::to_string(roll(4))}})});
      const Explanation e = Explain(*node, ledger, pod, inputs);
      if (const auto* admit = std::get_if<Admit>(&e.decision)) Apply(ledger, admit->delta);
      for (const Shortage& s : e.shortages) {
        if (s.resource == "cpu") continue;
        ++seen;
        ASSERT_EQ(s.free, FreeDevices(ledger, inputs.devices[s.resource], s))
            << "round " << round << ": " << ShortageText(s);
        ASSERT_GT(s.missing, 0);
        Inputs more = inputs;
        for (std::int64_t k = 0; k < s.missing; ++k)
          more.devices[s.resource].push_back({.id = "new" + std::to_string(k), .nodes = {*s.nodes.First()}});
        for (const Shortage& left : Explain(*node, ledger, pod, more).shortages)
          ASSERT_FALSE(left.resource == s.resource && left.scope == s.scope && left.nodes == s.nodes)
              << "round " << round << ": " << ShortageText(s) << ", then " << ShortageText(left);
      }
    }
  }
  EXPECT_GT(seen, 100);
}

TEST_F(ShortageTest, ASidecarOfThePodThatHoldsTheDevicesIsNamed) {
  for (const char* const policy : {"none", "best-effort"}) {
    Align(policy);
    const auto asking = [](const std::string& name, const std::string& devices) {
      return MakeContainer(name, {{"cpu", "1"}, {"memory", "64Mi"}, {"v.example/gpu", devices}});
    };
    const Pod pod =
        MakePod("asked", {asking("app", "1")}, {asking("setup", "2"), testing::Sidecar(asking("proxy", "2"))});
    const Decision decision = Decide(node_, ledger_, pod, inputs_, nullptr);
    ASSERT_TRUE(std::holds_alternative<Reject>(decision)) << policy;
    const Reject& reject = std::get<Reject>(decision);
    EXPECT_EQ(reject.container, "app");
    EXPECT_EQ(std::ranges::count(reject.details, "v.example/gpu: sidecar \"proxy\" of this pod holds 2 devices"), 1)
        << policy;
    EXPECT_TRUE(std::ranges::none_of(reject.details, [](const std::string& d) { return d.contains("setup"); }));
  }
}

std::int64_t Sum(const Ledger& ledger, const Shortage& shortage, Bytes MemoryTable::* what) {
  std::int64_t out = 0;
  for (const auto& [id, state] : ledger.memory)
    if (const auto type = state.types.find(shortage.resource); shortage.nodes.Contains(id) && type != state.types.end())
      out += (type->second.*what).v;
  return out;
}

/// "" if the numbers are those of the ledger and the holders account for what is not free.
std::string Fault(const Ledger& ledger, const Explanation& e, const Shortage& s) {
  if (s.free != Sum(ledger, s, &MemoryTable::free)) return "free";
  if (s.capacity != Sum(ledger, s, &MemoryTable::allocatable)) return "capacity";
  if (s.free >= s.requested) return "not short";
  std::int64_t held = 0;
  for (const Holder& holder : e.holders)
    if (holder.resource == s.resource && holder.nodes.Intersects(s.nodes)) held += holder.amount;
  return held < s.capacity - s.free ? "holders" : "";
}

TEST(ShortagePropertyTest, MemoryShortagesAreTheLedgersNumbers) {
  int seen = 0;
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(PropertySteps(30000) / 500); ++seed) {
    RandomNode random(seed);
    const auto node = random.MakeRegularNode();
    if (!node) continue;
    Ledger ledger = node->EmptyLedger();
    for (int i = 0; i < 10; ++i) {
      Pod pod = random.MakePod();
      pod.init_containers.clear();
      pod.containers.resize(1);
      const Explanation e = Explain(*node, ledger, pod, {});
      if (const auto* admit = std::get_if<Admit>(&e.decision)) Apply(ledger, admit->delta);
      for (const Shortage& s : e.shortages) {
        if (s.resource == "cpu") continue;
        ++seen;
        ASSERT_EQ(Fault(ledger, e, s), "") << "seed " << seed << ", pod " << i << ": " << ShortageText(s);
      }
    }
  }
  EXPECT_GT(seen, 10);
}

}  // namespace
}  // namespace berth::allocator
