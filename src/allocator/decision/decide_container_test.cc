#include "allocator/decision/decide_container.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "allocator/engine.h"
#include "allocator/testing/builders.h"

namespace berth::allocator {
namespace {

using testing::MakeContainer;
using testing::MakeMachine;
using testing::MakePod;
using testing::PinMemory;
using testing::StaticConfig;

constexpr const char* kGivenDevice = "vendor.example/gpu";

/// A node of 2 x 4 cores whose containers become known one after another.
class OneAtATime : public ::testing::Test {
 protected:
  explicit OneAtATime(const std::string& topology_policy = "") : node_(NodeOf(topology_policy)) {}

  static Node NodeOf(const std::string& topology_policy) {
    KubeletConfiguration config = StaticConfig("0");
    if (!topology_policy.empty()) config.topology_manager_policy = topology_policy;
    PinMemory(config);
    auto node = Node::Make(MakeMachine({.sockets = 2, .cores_per_node = 4, .threads = 1}), config);
    BERTH_CHECK(node.has_value());
    return *std::move(node);
  }

  /// "" if it has a place, else the reason.
  std::string Ask(const Pod& pod, std::string_view container, const Inputs& inputs = {}, Trace* trace = nullptr) {
    Decision decision = DecideContainer(node_, ledger_, pod, container, inputs, trace);
    if (const auto* const reject = std::get_if<Reject>(&decision)) return reject->reason;
    Apply(ledger_, std::get<Admit>(decision).delta);
    return "";
  }
  void Remove(std::string_view uid) { Apply(ledger_, Release(node_, ledger_, uid, nullptr)); }
  std::string CpusOf(std::string_view uid, std::string_view container) const {
    const Placement* const placement = FindPlacement(ledger_.pods.find(uid)->second, container);
    return placement == nullptr ? "none" : placement->cpus ? FormatIds(*placement->cpus) : "shared";
  }

  static Container Whole(std::string name, int cpus, std::string memory = "1Gi") {
    return MakeContainer(std::move(name), {{"cpu", std::to_string(cpus)}, {"memory", std::move(memory)}});
  }

  Node node_;
  Ledger ledger_ = node_.EmptyLedger();
};

TEST_F(OneAtATime, ThePodOfOneContainerHasWhatItWouldHaveAsAWhole) {
  const Pod pod = MakePod("a", {Whole("main", 2)});
  Decision whole = Decide(node_, ledger_, pod, {}, nullptr);
  ASSERT_EQ(Ask(pod, "main"), "");
  Ledger other = node_.EmptyLedger();
  Apply(other, std::get<Admit>(whole).delta);
  EXPECT_EQ(ledger_, other);
}

TEST_F(OneAtATime, WhatTheOthersHaveStays) {
  ASSERT_EQ(Ask(MakePod("a", {Whole("one", 2)}), "one"), "");
  const std::string before = CpusOf("a", "one");
  ASSERT_EQ(Ask(MakePod("a", {Whole("one", 2), Whole("two", 1)}), "two"), "");
  EXPECT_EQ(CpusOf("a", "one"), before);
  EXPECT_EQ(ledger_.pods.at("a").placements.size(), 2U);
  EXPECT_EQ(ledger_.pods.at("a").requests.at("cpu"), testing::Q("3"));
  Remove("a");
  Ledger empty = node_.EmptyLedger();
  empty.revision = ledger_.revision;
  empty.next_sequence = ledger_.next_sequence;
  EXPECT_EQ(ledger_, empty);
}

TEST_F(OneAtATime, OneThatHasItsPlaceKeepsIt) {
  const Pod pod = MakePod("a", {Whole("one", 2)});
  ASSERT_EQ(Ask(pod, "one"), "");
  const Ledger before = ledger_;
  ASSERT_EQ(Ask(pod, "one"), "");
  EXPECT_EQ(ledger_.pods, before.pods);
  EXPECT_EQ(ledger_.shared, before.shared);
}

TEST_F(OneAtATime, NothingIsTakenForOneThatDoesNotFit) {
  ASSERT_EQ(Ask(MakePod("a", {Whole("one", 2)}), "one"), "");
  const Ledger before = ledger_;
  EXPECT_EQ(Ask(MakePod("a", {Whole("one", 2), Whole("two", 9)}), "two"), "UnexpectedAdmissionError");
  EXPECT_EQ(ledger_, before);
}

TEST_F(OneAtATime, WhatAnInitContainerHadIsUsedAgain) {
  ASSERT_EQ(Ask(MakePod("a", {Whole("setup", 4)}), "setup"), "");
  const CpuSet had = *FindPlacement(ledger_.pods.at("a"), "setup")->cpus;
  ASSERT_EQ(Ask(MakePod("a", {Whole("main", 4)}, {Whole("setup", 4)}), "main"), "");
  EXPECT_EQ(*FindPlacement(ledger_.pods.at("a"), "main")->cpus, had);
  EXPECT_EQ(FindPlacement(ledger_.pods.at("a"), "setup")->kind, ContainerKind::kInit);
}

TEST_F(OneAtATime, OneThatWasNoInitContainerAfterAllIsDecidedAnew) {
  ASSERT_EQ(Ask(MakePod("a", {Whole("one", 3)}), "one"), "");
  ASSERT_EQ(Ask(MakePod("a", {Whole("two", 2)}, {Whole("one", 3)}), "two"), "");
  const CpuSet two = *FindPlacement(ledger_.pods.at("a"), "two")->cpus;
  ASSERT_EQ(Ask(MakePod("a", {Whole("two", 2), Whole("one", 3)}), "one"), "");
  const CpuSet one = *FindPlacement(ledger_.pods.at("a"), "one")->cpus;
  EXPECT_FALSE(one.Intersects(two)) << FormatIds(one) << " " << FormatIds(two);
  EXPECT_EQ(one.Count(), 3U);
  Remove("a");
  EXPECT_EQ(ledger_.shared, node_.EmptyLedger().shared);
  EXPECT_EQ(ledger_.memory, node_.EmptyLedger().memory);
}

TEST_F(OneAtATime, APodThatBeginsAnewHasWhatItHad) {
  ASSERT_EQ(Ask(MakePod("a", {Whole("setup", 4)}), "setup"), "");
  ASSERT_EQ(Ask(MakePod("a", {Whole("main", 4)}, {Whole("setup", 4)}), "main"), "");
  const CpuSet had = *FindPlacement(ledger_.pods.at("a"), "main")->cpus;
  ASSERT_EQ(Ask(MakePod("b", {Whole("other", 3)}), "other"), "");  // nothing else is left
  ASSERT_EQ(Ask(MakePod("a", {Whole("setup", 4)}, {Whole("main", 4)}), "setup"), "");
  EXPECT_EQ(*FindPlacement(ledger_.pods.at("a"), "setup")->cpus, had);
  ASSERT_EQ(Ask(MakePod("a", {Whole("main", 4)}, {Whole("setup", 4)}), "main"), "");
  EXPECT_EQ(*FindPlacement(ledger_.pods.at("a"), "main")->cpus, had);
}

TEST_F(OneAtATime, PodsThatComeAndGoContainerByContainerLeaveNothingBehind) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto roll = [&](unsigned below) { return static_cast<int>(random() % below); };
  std::map<std::string, Pod> pods;
  for (int step = 0; step < 3000; ++step) {
    const std::string uid = "p" + std::to_string(roll(4));
    if (roll(5) == 0) {
      Remove(uid);
      pods.erase(uid);
    } else {
      Pod& pod = pods.try_emplace(uid, MakePod(uid, {})).first->second;
      const std::string name = "c" + std::to_string(roll(3));
      const auto is_it = [&](const Container& c) { return c.name == name; };
      if (std::ranges::none_of(pod.containers, is_it) && std::ranges::none_of(pod.init_containers, is_it)) {
        if (!pod.containers.empty() && roll(2) == 0) {  // the one before it has ended
          pod.init_containers.push_back(pod.containers.back());
          pod.containers.pop_back();
        }
        pod.containers.push_back(Whole(name, 1 + roll(3), roll(2) == 0 ? "1Gi" : "7Gi"));
      } else if (const auto init = std::ranges::find_if(pod.init_containers, is_it);
                 init != pod.init_containers.end()) {
        pod.containers.push_back(*init);
        pod.init_containers.erase(init);
      }
      if (!Ask(pod, name).empty()) std::erase_if(pod.containers, is_it);
    }
    CpuSet all = ledger_.shared;
    for (const auto& [owner, record] : ledger_.pods) {
      const CpuSet own = ExclusiveCpus(record);
      ASSERT_FALSE(all.Intersects(own)) << "step " << step;
      all |= own;
      for (const Placement& a : record.placements)
        for (const Placement& b : record.placements)
          if (&a != &b && a.cpus && b.cpus && a.kind == ContainerKind::kApp && b.kind == ContainerKind::kApp) {
            ASSERT_FALSE(a.cpus->Intersects(*b.cpus)) << "step " << step;
          }
    }
    ASSERT_EQ(all, node_.EmptyLedger().shared) << "step " << step;
  }
  for (const auto& [uid, pod] : pods) Remove(uid);
  EXPECT_EQ(ledger_.shared, node_.EmptyLedger().shared);
  EXPECT_EQ(ledger_.memory, node_.EmptyLedger().memory);
}

/// A container has a device on node 1, and an init container before it, which nobody knew that of, has CPUs of node 0.
struct BesideADevice : OneAtATime {
  BesideADevice() : OneAtATime("single-numa-node") {}

  std::string AskForSetupAndMain() {
    EXPECT_EQ(Ask(MakePod("a", {Whole("setup", 2)}), "setup"), "");
    EXPECT_EQ(CpusOf("a", "setup"), "1-2");
    return Ask(with_device, "main", inputs, &trace);
  }
  std::string Stages() const {
    std::string out;
    for (const TraceStep& step : trace.steps())
      if (step.stage == "reuse" || step.stage == "reject") out += step.stage + " ";
    return out;
  }

  Inputs inputs{.devices = {{kGivenDevice, {{.id = "g0", .nodes = NodeSet{NumaId{1}}}}}}, .preferred_devices = {}};
  Pod with_device = MakePod("a", {MakeContainer("main", {{"cpu", "2"}, {"memory", "1Gi"}, {kGivenDevice, "1"}})},
                            {Whole("setup", 2)});
  Trace trace;
};

TEST_F(BesideADevice, CpusThatAnInitContainerLeftElsewhereAreNotUsedAgain) {
  ASSERT_EQ(AskForSetupAndMain(), "");
  EXPECT_EQ(CpusOf("a", "main"), "4-5");
  EXPECT_EQ(Stages(), "reuse ");
  ASSERT_EQ(Ask(MakePod("a", {Whole("main", 2), Whole("side", 1)}, {Whole("setup", 2)}), "side"), "");
  EXPECT_EQ(CpusOf("a", "side"), "1") << "they are left to the next";
  Remove("a");
  EXPECT_EQ(ledger_.shared, node_.EmptyLedger().shared);
  EXPECT_EQ(ledger_.memory, node_.EmptyLedger().memory);
}

TEST_F(BesideADevice, CpusThatAnInitContainerLeftThereAreUsedAgain) {
  inputs.devices[kGivenDevice][0].nodes = NodeSet{NumaId{0}};
  ASSERT_EQ(AskForSetupAndMain(), "");
  EXPECT_EQ(CpusOf("a", "main"), "1-2");
  EXPECT_EQ(Stages(), "");
}

TEST_F(BesideADevice, OneThatFitsNowhereIsRefusedForTheReasonsWithThem) {
  ASSERT_EQ(Ask(MakePod("b", {Whole("other", 4)}), "other"), "");
  ASSERT_EQ(CpusOf("b", "other"), "4-7");
  EXPECT_EQ(AskForSetupAndMain(), "TopologyAffinityError");
  EXPECT_EQ(Stages(), "reject ");
}

TEST_F(OneAtATime, WhereDevicesAreCountsForContainersWithCpusOrMemoryOfTheirOwn) {
  Pod pod = MakePod("a", {Whole("main", 2)});
  EXPECT_TRUE(AsksForOwn(node_, pod, "main"));
  EXPECT_FALSE(AsksForOwn(node_, pod, "none"));
  pod.containers[0].resources.requests["cpu"] = pod.containers[0].resources.limits["cpu"] = testing::Q("500m");
  EXPECT_TRUE(AsksForOwn(node_, pod, "main")) << "memory";
  pod.containers[0] = Whole("main", 2);
  pod.resources.emplace().requests["cpu"] = testing::Q("2");
  EXPECT_FALSE(AsksForOwn(node_, pod, "main")) << "a pod with resources of its own is left to the shared pool";
  pod.resources.reset();
  pod.status_qos = QosClass::kBurstable;
  EXPECT_FALSE(AsksForOwn(node_, pod, "main"));
}

}  // namespace
}  // namespace berth::allocator
