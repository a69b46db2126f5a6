#include "simulator/offline/version_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/machine/load_machine.h"
#include "testing/fixtures.h"

namespace berth::offline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Outcome AdmittedOn(int number, const std::string& pod, const std::string& cpus) {
  PodRecord record{.uid = pod};
  record.placements.push_back({.container = "app", .cpus = testkit::Cpus(cpus)});
  Admit admit;
  admit.delta.put = std::move(record);
  return {.number = number, .pod = pod, .added = AddStep{}, .decision = std::move(admit)};
}

Outcome RejectedFor(int number, const std::string& pod, const std::string& reason) {
  return {.number = number, .pod = pod, .added = AddStep{}, .decision = Reject{.reason = reason}};
}

TEST(VersionComparisonTest, WhatDiffersIsToldByContainerAndAllDecisionsAreCounted) {
  const std::vector<Outcome> first = {AdmittedOn(1, "a", "0-1"), AdmittedOn(2, "b", "2-3"),
                                      AdmittedOn(3, "c", "4"),   RejectedFor(4, "d", "X"),
                                      RejectedFor(5, "e", "X"),  {.number = 6, .pod = "a", .was_there = true}};
  const std::vector<Outcome> second = {AdmittedOn(1, "a", "0-1"), AdmittedOn(2, "b", "2,4"),
                                       RejectedFor(3, "c", "X"),  AdmittedOn(4, "d", "5"),
                                       RejectedFor(5, "e", "Y"),  {.number = 6, .pod = "a", .was_there = true}};
  const OutcomeComparison compared = CompareOutcomes(first, second);
  EXPECT_THAT(compared.differences, ElementsAre(OutcomeDifference{2, "b", "app", "CPUs 2-3", "CPUs 2,4"},
                                                OutcomeDifference{3, "c", "app", "CPUs 4", "rejected: X"},
                                                OutcomeDifference{4, "d", "app", "rejected: X", "CPUs 5"},
                                                OutcomeDifference{5, "e", "", "rejected: X", "rejected: Y"}));
  EXPECT_EQ(compared.same, 2);
  EXPECT_EQ(compared.elsewhere, 1);
  EXPECT_EQ(compared.only_first, 1);
  EXPECT_EQ(compared.only_second, 1);
}

TEST(VersionComparisonTest, AStepThatComesToNothingInOneOfThemIsADifference) {
  const OutcomeComparison compared = CompareOutcomes({AdmittedOn(2, "a", "0")}, {});
  EXPECT_THAT(compared.differences, ElementsAre(OutcomeDifference{2, "a", "app", "CPUs 0", ""}));
  EXPECT_EQ(compared.only_first, 1);
}

TEST(VersionComparisonTest, EveryVersionIsHeldAgainstTheFirst) {
  const std::vector<VersionRun> runs = {{KubeletVersion::k1_36, {AdmittedOn(1, "a", "0-1")}},
                                        {KubeletVersion::k1_37, {AdmittedOn(1, "a", "0-1")}},
                                        {KubeletVersion::k1_38, {AdmittedOn(1, "a", "0,2")}}};
  EXPECT_EQ(CompareText(runs, {}),
            "1 decision as kubelet 1.36 and as 1.37: 1 the same, 0 with other places, 0 admitted by 1.36 alone, 0 by "
            "1.37\n"
            "\n"
            "STEP  POD  CONTAINER  1.36      1.38\n"
            "   1  a    app        CPUs 0-1  CPUs 0,2\n"
            "\n"
            "1 decision as kubelet 1.36 and as 1.38: 0 the same, 1 with other places, 0 admitted by 1.36 alone, 0 by "
            "1.38\n");
  const codec::Json json = CompareJson(runs);
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0]["differences"], codec::Json::array());
  EXPECT_EQ(json[1]["second"], "1.38");
  EXPECT_EQ(json[1]["differences"][0]["second"], "CPUs 0,2");
  EXPECT_EQ(json[1]["elsewhere"], 1);
}

TEST(VersionComparisonTest, SettingsThatAVersionRefusesAreNamed) {
  KubeletConfiguration config;
  config.feature_gates["SidecarContainers"] = true;
  auto node = allocator::Node::Make(*machine::ParseSynthetic("numa:1 core:2 pu:1"), config,
                                    {.kubelet_version = KubeletVersion::k1_36});
  ASSERT_TRUE(node);
  const Ledger empty = node->EmptyLedger();
  const OfflineNode here{.node = *std::move(node), .ledger = empty, .inputs = {}, .conditions = {}, .node_name = {}};
  const auto same = AsVersion(here, KubeletVersion::k1_36);
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_EQ(same->node.options(), here.node.options());
  const auto later = AsVersion(here, KubeletVersion::k1_37);
  ASSERT_FALSE(later);
  EXPECT_THAT(later.error().message, HasSubstr("as kubelet 1.37: "));
  EXPECT_THAT(later.error().message, HasSubstr("SidecarContainers"));
}

}  // namespace
}  // namespace berth::offline
