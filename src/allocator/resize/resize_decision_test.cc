// Resizes on small machines, looked at one by one.
#include "allocator/resize/resize_decision.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <variant>

#include "allocator/decision/decide.h"
#include "allocator/testing/builders.h"
#include "model/pod_wishes.h"

namespace berth::allocator {
namespace {

using testing::Cpus;
using testing::MakeContainer;
using testing::MakeMachine;
using testing::MakePod;
using testing::PinMemory;
using testing::Shape;
using testing::StaticConfig;

/// A node and what runs on it.
class ResizeTest : public ::testing::Test {
 protected:
  void MakeNode(const Shape& shape, const KubeletConfiguration& config, const EngineOptions& options = {}) {
    auto made = Node::Make(MakeMachine(shape), config, options);
    ASSERT_TRUE(made) << made.error().message;
    node_.emplace(*std::move(made));
    ledger_ = node_->EmptyLedger();
  }

  /// One container "c".
  static Pod PodOf(const std::string& uid, const std::string& cpus, const std::string& memory = "64Mi") {
    return MakePod(uid, {MakeContainer("c", {{"cpu", cpus}, {"memory", memory}})});
  }

  std::string Take(const Decision& decision, const std::string& uid) {
    if (const auto* reject = std::get_if<Reject>(&decision)) {
      last_ = *reject;
      return reject->reason + ": " + reject->message;
    }
    Apply(ledger_, std::get<Admit>(decision).delta);
    const Placement& placement = PlacementOf(uid);
    return placement.cpus ? FormatIds(*placement.cpus) : "shared";
  }
  std::string Admitted(const Pod& pod) { return Take(Decide(*node_, ledger_, pod, inputs_, nullptr), pod.uid); }
  std::string Resized(const Pod& pod) { return Take(Resize(*node_, ledger_, pod, inputs_, nullptr), pod.uid); }
  const Placement& PlacementOf(const std::string& uid) { return ledger_.pods.at(uid).placements.back(); }

  std::optional<Node> node_;
  Ledger ledger_;
  Inputs inputs_;
  Reject last_;
};

// Cores are {0,8}, {1,9}, ...: two nodes of four cores, CPU 0 reserved.
constexpr Shape kTwoNodes{.sockets = 2, .cores_per_node = 4};

TEST_F(ResizeTest, GrowingKeepsEveryCpuAndAddsSiblingsFirst) {
  MakeNode(kTwoNodes, StaticConfig());
  ASSERT_EQ(Admitted(PodOf("a", "1")), "8");  // the sibling of the reserved one
  EXPECT_EQ(Resized(PodOf("a", "3")), "1,8-9") << "of its node, and whole cores of that";
  EXPECT_EQ(ledger_.shared, Cpus("0,2-7,10-15"));
  EXPECT_EQ(PlacementOf("a").promised, Cpus("8"));
  EXPECT_EQ(ledger_.pods.at("a").requests.at("cpu"), testing::Q("3"));
}

TEST_F(ResizeTest, HalfOfACoreIsCompletedBeforeAnotherIsBegun) {
  MakeNode(kTwoNodes, StaticConfig());
  ASSERT_EQ(Admitted(PodOf("a", "3")), "1,8-9");
  EXPECT_EQ(Resized(PodOf("a", "4")), "1-2,8-9");
  EXPECT_EQ(Resized(PodOf("a", "5")), "1-2,8-10");
}

TEST_F(ResizeTest, ShrinkingKeepsWhatItWasStartedWith) {
  MakeNode(kTwoNodes, StaticConfig());
  ASSERT_EQ(Admitted(PodOf("a", "2")), "1,9");
  ASSERT_EQ(Resized(PodOf("a", "6")), "1-3,9-11");
  EXPECT_EQ(Resized(PodOf("a", "4")), "1-2,9-10");
  EXPECT_EQ(PlacementOf("a").promised, Cpus("1,9"));
  EXPECT_EQ(Resized(PodOf("a", "2")), "1,9");
  EXPECT_EQ(PlacementOf("a").promised, std::nullopt) << "it has nothing else";
  EXPECT_EQ(Resized(PodOf("a", "1")), "1");
  EXPECT_EQ(ledger_.shared, Cpus("0,2-15"));
}

TEST_F(ResizeTest, AnAnnotationNamesTheCpusThatAreKept) {
  MakeNode(kTwoNodes, StaticConfig());
  ASSERT_EQ(Admitted(PodOf("a", "4")), "1-2,9-10");
  Pod pod = PodOf("a", "2");
  pod.annotations[std::string(kKeepCpusAnnotation)] = "c=2,10";
  EXPECT_EQ(Resized(pod), "2,10");
  pod = PodOf("a", "1");
  pod.annotations[std::string(kKeepCpusAnnotation)] = "c=9";
  EXPECT_EQ(Resized(pod), "Infeasible: annotation berth.dev/keep-cpus names CPUs 9: it has to keep 1 of 2,10");
}

TEST_F(ResizeTest, WhatOthersHoldDefersAndWhatTheNodeNeverHasIsInfeasible) {
  MakeNode(kTwoNodes, StaticConfig());
  ASSERT_EQ(Admitted(PodOf("a", "2")), "1,9");
  ASSERT_NE(Admitted(PodOf("b", "10")).substr(0, 10), "Unexpected");
  const Ledger before = ledger_;
  EXPECT_EQ(Resized(PodOf("a", "12")).substr(0, 9), "Deferred:");
  EXPECT_FALSE(last_.details.empty());
  EXPECT_EQ(Resized(PodOf("a", "40")).substr(0, 11), "Infeasible:");
  EXPECT_EQ(ledger_, before) << "nothing has changed";
}

TEST_F(ResizeTest, UnderSingleNumaNodeNothingIsAddedOfAnotherNode) {
  KubeletConfiguration config = StaticConfig();
  config.topology_manager_policy = "single-numa-node";
  MakeNode(kTwoNodes, config);
  ASSERT_EQ(Admitted(PodOf("a", "2")), "1,9");
  ASSERT_EQ(Resized(PodOf("a", "6")), "1-3,9-11");
  EXPECT_EQ(Resized(PodOf("a", "8")), "Infeasible: Resources cannot be allocated with Topology locality");
  EXPECT_EQ(last_.details.back(),
            "it keeps CPUs 1-3,9-11, and policy single-numa-node wants what is added on the nodes of what it has");
}

TEST_F(ResizeTest, UnderBestEffortTheRestComesFromElsewhere) {
  KubeletConfiguration config = StaticConfig();
  config.topology_manager_policy = "best-effort";
  MakeNode(kTwoNodes, config);
  ASSERT_EQ(Admitted(PodOf("a", "2")), "1,9");
  EXPECT_EQ(Resized(PodOf("a", "8")), "1-4,8-11");
}

TEST_F(ResizeTest, FullCoresStayWhole) {
  KubeletConfiguration config = StaticConfig();
  config.cpu_manager_policy_options["full-pcpus-only"] = "true";
  MakeNode(kTwoNodes, config);
  ASSERT_EQ(Admitted(PodOf("a", "2")), "1,9");
  EXPECT_EQ(Resized(PodOf("a", "3")),
            "Infeasible: SMT Alignment Error: requested 3 cpus not multiple cpus per core = 2");
  EXPECT_EQ(Resized(PodOf("a", "4")), "1-2,9-10");
  EXPECT_EQ(Resized(PodOf("a", "2")), "1,9");
}

TEST_F(ResizeTest, AContainerComesOutOfTheSharedPoolAndGoesBackThere) {
  MakeNode(kTwoNodes, StaticConfig());
  ASSERT_EQ(Admitted(PodOf("a", "500m")), "shared");
  EXPECT_EQ(Resized(PodOf("a", "2")), "1,9");
  EXPECT_EQ(Resized(PodOf("a", "1500m")), "shared");
  EXPECT_EQ(ledger_.shared, node_->EmptyLedger().shared);
}

TEST_F(ResizeTest, MemoryGrowsAndShrinksOnItsNodes) {
  KubeletConfiguration config = StaticConfig();
  config.topology_manager_policy = "best-effort";
  PinMemory(config);
  MakeNode(kTwoNodes, config);
  ASSERT_EQ(Admitted(PodOf("a", "2", "4Gi")), "1,9");
  const NodeSet nodes = MemoryNodes(PlacementOf("a"));
  EXPECT_EQ(FormatIds(nodes), "0");
  EXPECT_EQ(Resized(PodOf("a", "2", "8Gi")), "1,9");
  EXPECT_EQ(PlacementOf("a").memory->at(0).size, GiB(8));
  EXPECT_EQ(ledger_.memory.at(NumaId{0}).types.at("memory").reserved, GiB(8));
  EXPECT_EQ(Resized(PodOf("a", "2", "12Gi")).substr(0, 11), "Infeasible:") << "the node has 10Gi";
  EXPECT_EQ(Resized(PodOf("a", "2", "1Gi")), "1,9");
  EXPECT_EQ(ledger_.memory.at(NumaId{0}).types.at("memory").reserved, GiB(1));
  EXPECT_EQ(MemoryNodes(PlacementOf("a")), nodes);
}

TEST_F(ResizeTest, TheClassOfThePodStays) {
  MakeNode(kTwoNodes, StaticConfig());
  ASSERT_EQ(Admitted(PodOf("a", "2")), "1,9");
  Pod pod = PodOf("a", "2");
  pod.containers[0].resources.limits["cpu"] = testing::Q("3");
  EXPECT_EQ(Resized(pod),
            "Infeasible: Pod QOS Class may not change as a result of resizing (it is Guaranteed, and would "
            "be Burstable)");
}

TEST_F(ResizeTest, OneContainerGetsWhatAnotherOfThePodGivesBack) {
  const auto pod = [](const std::string& a, const std::string& b) {
    return MakePod("p", {MakeContainer("a", {{"cpu", a}, {"memory", "1Mi"}}),
                         MakeContainer("b", {{"cpu", b}, {"memory", "1Mi"}})});
  };
  // A scheduler of 1.36 counts 4 CPUs meanwhile, of 1.37 on 3; on the node it is 3 for both (rules/versions).
  for (const KubeletVersion version : kKubeletVersions) {
    MakeNode({.sockets = 1, .cores_per_node = 4, .threads = 1}, StaticConfig(), {.kubelet_version = version});
    ASSERT_EQ(Admitted(pod("1", "2")), "2-3");
    EXPECT_EQ(Resized(pod("2", "1")), "2") << Name(version);
    EXPECT_EQ(FormatIds(*ledger_.pods.at("p").placements[0].cpus), "1,3");
    EXPECT_EQ(ledger_.pods.at("p").requests.at("cpu"), testing::Q("3"));
  }
}

TEST_F(ResizeTest, TheTraceSaysWhatIsKept) {
  MakeNode(kTwoNodes, StaticConfig());
  ASSERT_EQ(Admitted(PodOf("a", "2")), "1,9");
  Trace trace;
  const Decision decision = Resize(*node_, ledger_, PodOf("a", "4"), inputs_, &trace);
  ASSERT_TRUE(std::holds_alternative<Admit>(decision));
  ASSERT_FALSE(trace.steps().empty());
  EXPECT_EQ(trace.steps().back().text, "keeps CPUs 1,9 and gets 2,10; the shared pool is 0,3-8,11-15");
}

}  // namespace
}  // namespace berth::allocator
