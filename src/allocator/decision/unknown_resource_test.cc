// Pods that ask for what nobody has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "allocator/decision/decide.h"
#include "allocator/explain/explain.h"
#include "allocator/testing/builders.h"

namespace berth::allocator {
namespace {

using allocator::testing::MakeContainer;
using allocator::testing::MakeMachine;
using allocator::testing::MakePod;
using allocator::testing::StaticConfig;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct UnknownResourceTest : ::testing::Test {
  static Node Make(bool refuse) {
    auto node = Node::Make(MakeMachine({}), StaticConfig(), {.node_fit = refuse});
    BERTH_CHECK(node.has_value());
    return *std::move(node);
  }
  static Pod Asking(const std::string& resource, const std::string& amount = "1") {
    return MakePod("a", {MakeContainer("quiet", {{"cpu", "1"}, {"memory", "1Mi"}}),
                         MakeContainer("c", {{"cpu", "1"}, {"memory", "1Mi"}, {resource, amount}})});
  }
  Decision Try(const Pod& pod) const { return Decide(node, node.EmptyLedger(), pod, inputs, nullptr); }
  /// The last detail of the rejection.
  std::string Detail(const std::string& resource) const {
    const Decision decision = Try(Asking(resource));
    const auto* const reject = std::get_if<Reject>(&decision);
    return reject == nullptr || reject->details.empty() ? "" : reject->details.back();
  }
  const Node node = Make(true);
  Inputs inputs;
};

TEST_F(UnknownResourceTest, ItIsRefusedInTheWordsOfTheFitAndNamed) {
  const Decision decision = Try(Asking("vendor.example/gpu", "2"));
  const auto* const reject = std::get_if<Reject>(&decision);
  ASSERT_NE(reject, nullptr);
  EXPECT_EQ(reject->reason, "OutOfvendor.example/gpu");
  EXPECT_EQ(reject->message,
            "Node didn't have enough resource: vendor.example/gpu, requested: 2, used: 0, capacity: 0");
  EXPECT_EQ(reject->container, "c");
  EXPECT_THAT(reject->details,
              ElementsAre(HasSubstr("2 devices asked"),
                          "vendor.example/gpu: no device plugin has registered it, nor any other resource"));
}

TEST_F(UnknownResourceTest, TheNearestThereIsIsNamed) {
  inputs.devices = {{"vendor.example/gpu", {}}, {"other.example/nic", {}}, {"third.example/nic", {}}};
  EXPECT_THAT(Detail("vendor.example/gpus"), HasSubstr("the nearest one there is, is vendor.example/gpu"));
  EXPECT_THAT(Detail("vendor.example/nic"), HasSubstr("there is other.example/nic, third.example/nic"));
  EXPECT_THAT(Detail("x.org/fpga"), HasSubstr("there is other.example/nic, third.example/nic, vendor.example/gpu"));
  for (int i = 0; i < 20; ++i) inputs.devices["v" + std::to_string(i) + ".example/nic"] = {};
  EXPECT_THAT(Detail("x.org/fpga"), ::testing::EndsWith(", ..."));
}

TEST_F(UnknownResourceTest, WhatIsRegisteredHeldOrAskedForInVainIsKnown) {
  inputs.devices = {{"vendor.example/gpu", {{.id = "g0"}}}};
  EXPECT_TRUE(std::holds_alternative<Admit>(Try(Asking("vendor.example/gpu"))));
  EXPECT_TRUE(std::holds_alternative<Admit>(Try(Asking("vendor.example/none", "0"))));
  inputs.devices = {{"vendor.example/gpu", {}}};
  const Decision none = Try(Asking("vendor.example/gpu"));
  ASSERT_TRUE(std::holds_alternative<Reject>(none));
  EXPECT_EQ(std::get<Reject>(none).reason, "UnexpectedAdmissionError") << "the device manager's affair";
}

TEST_F(UnknownResourceTest, WhoHasAPlaceKeepsIt) {
  Ledger ledger = node.EmptyLedger();
  Inputs with;
  with.devices = {{"vendor.example/gpu", {{.id = "g0"}}}};
  const Pod pod = Asking("vendor.example/gpu");
  const Decision decision = Decide(node, ledger, pod, with, nullptr);
  ASSERT_TRUE(std::holds_alternative<Admit>(decision));
  Apply(ledger, std::get<Admit>(decision).delta);
  EXPECT_TRUE(std::holds_alternative<Admit>(Decide(node, ledger, pod, inputs, nullptr)));
}

TEST_F(UnknownResourceTest, TheExplanationSaysWhatWouldBeAdmitted) {
  const Explanation e = Explain(node, node.EmptyLedger(), Asking("vendor.example/gpu"), inputs);
  ASSERT_TRUE(std::holds_alternative<Reject>(e.decision));
  ASSERT_EQ(e.shortages.size(), 1U);
  EXPECT_EQ(e.shortages[0].resource, "vendor.example/gpu");
  EXPECT_EQ(e.shortages[0].missing, 1);
  ASSERT_TRUE(e.nearest);
}

TEST_F(UnknownResourceTest, AKubeletPassesOverIt) {
  const Node kubelets = Make(false);
  EXPECT_TRUE(std::holds_alternative<Admit>(
      Decide(kubelets, kubelets.EmptyLedger(), Asking("vendor.example/gpu"), inputs, nullptr)));
}

}  // namespace
}  // namespace berth::allocator
