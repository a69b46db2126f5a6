// Simulated clusters: nodes from words, pods that come and go, and what each rule makes of them.
#include <gtest/gtest.h>

#include <sstream>

#include "allocator/testing/builders.h"
#include "simulator/offline/cluster_nodes.h"
#include "simulator/offline/cluster_report.h"
#include "simulator/offline/cluster_run.h"
#include "simulator/offline/zone_view.h"

namespace berth::offline {
namespace {

using allocator::testing::MakeContainer;

cluster::NodeDescription AlignedNode() {
  cluster::NodeDescription out;
  out.machine = allocator::testing::MakeMachine({.sockets = 2, .cores_per_node = 4, .node_memory = GiB(16)});
  out.config = allocator::testing::StaticConfig("0");
  allocator::testing::PinMemory(out.config);
  out.config.topology_manager_policy = "single-numa-node";
  return out;
}

void AddAlignedNodes(int count, cluster::Fleet& fleet) {
  for (int i = 0; i < count; ++i) {
    cluster::NodeDescription description = AlignedNode();
    const auto node = allocator::Node::Make(description.machine, description.config, description.options);
    ASSERT_TRUE(node.has_value());
    ASSERT_TRUE(fleet.Put("n" + std::to_string(i), std::move(description), node->EmptyLedger()).has_value());
  }
}

Pod ClusterPod(const std::string& uid, const std::string& cpu) {
  return allocator::testing::MakePod(uid, {MakeContainer("app", {{"cpu", cpu}, {"memory", "1Gi"}})});
}

ClusterOutcome Simulate(SchedulerRule rule, std::uint64_t seed = 1) {
  cluster::Fleet fleet;
  AddAlignedNodes(10, fleet);
  std::ostringstream err;
  const auto workload = MakeWorkload({.pods = 400, .seed = seed}, fleet, err);
  EXPECT_TRUE(workload.has_value());
  return RunCluster(fleet, *workload, {.rule = rule});
}

TEST(ClusterTest, WhatTheNodesWereAskedTheyDoNotReject) {
  const ClusterOutcome sums = Simulate(SchedulerRule::kDefault);
  const ClusterOutcome asked = Simulate(SchedulerRule::kExtender);
  EXPECT_GT(sums.rejected, 0U) << "sums do not say what a NUMA node has left";
  EXPECT_EQ(asked.rejected, 0U);
  for (const ClusterOutcome& outcome : {sums, asked}) {
    EXPECT_EQ(outcome.came, 400U);
    EXPECT_EQ(outcome.admitted + outcome.waiting, outcome.came);
    EXPECT_EQ(outcome.samples.size(), 200U);
  }
}

TEST(ClusterTest, PodsThatNeverFitCostNoMoreThanTheirArrivals) {
  cluster::Fleet fleet;
  AddAlignedNodes(10, fleet);
  Workload workload;
  workload.kinds = {{.pod = ClusterPod("huge", "1000"), .weight = 1}};
  workload.usual = {.cpus = 1, .memory = 0};
  constexpr double kWeek_s = 7.0 * 24 * 3600;
  for (int i = 0; i < 50; ++i) workload.arrivals.push_back({.kind = 0, .at_s = kWeek_s * i, .stays_s = 1});
  for (const SchedulerRule rule : {SchedulerRule::kDefault, SchedulerRule::kTopology, SchedulerRule::kExtender}) {
    const ClusterOutcome outcome = RunCluster(fleet, workload, {.rule = rule});
    EXPECT_EQ(outcome.waiting, 50U);
    EXPECT_EQ(outcome.rejected, 0U);
  }
}

TEST(ClusterTest, PodsComeAndGoForADayAtTheLoadHoweverFewTheyAre) {
  cluster::Fleet fleet;
  AddAlignedNodes(300, fleet);
  std::ostringstream err;
  const auto workload = MakeWorkload({.pods = 100, .load = 80}, fleet, err);
  ASSERT_TRUE(workload.has_value());
  EXPECT_GT(workload->filling, 1000U);
  EXPECT_DOUBLE_EQ(workload->arrivals.back().at_s, 24.0 * 3600);
  const ClusterOutcome outcome = RunCluster(fleet, *workload, {.rule = SchedulerRule::kExtender});
  EXPECT_EQ(outcome.came, 100U);
  EXPECT_EQ(outcome.admitted, 100U);
  const double requested = MeansOf(outcome).requested;
  EXPECT_GT(requested, 0.7);
  EXPECT_LT(requested, 0.9);
  const auto there = static_cast<double>(workload->filling);
  EXPECT_NEAR(static_cast<double>(outcome.samples.back().running), there, 40) << "as many have gone as came";
}

TEST(ClusterTest, OfALargeClusterOnlyAPartIsComparedUnlessAllIsAskedFor) {
  for (const unsigned percent : {0U, 100U}) {
    cluster::Fleet fleet;
    AddAlignedNodes(150, fleet);
    for (cluster::NodeIndex node = 0; node < 149; ++node)
      for (const char* const cpus : {"4", "5"})
        ASSERT_TRUE(fleet.Assume(ClusterPod(std::string(cpus) + "-" + std::to_string(node), cpus), node).admitted);
    Workload workload;
    workload.kinds = {{.pod = ClusterPod("five", "5"), .weight = 1}};
    workload.arrivals = {{.kind = 0, .at_s = 1, .stays_s = 1}};
    const ClusterRules rules{.rule = SchedulerRule::kExtender, .percent_to_score = percent};
    const ClusterOutcome outcome = RunCluster(fleet, workload, rules);
    EXPECT_EQ(outcome.at_once, percent == 100 ? 1U : 0U) << "by sums it fits on all of them, in truth on the last one";
    EXPECT_EQ(RowName(rules), percent == 100 ? "extender, 100%" : "extender");
  }
}

TEST(ClusterTest, TheSameSeedGivesTheSameOutcome) {
  const auto text = [](std::uint64_t seed) { return ToJson({Simulate(SchedulerRule::kTopology, seed)}).dump(); };
  EXPECT_EQ(text(1), text(1));
  EXPECT_NE(text(1), text(2));
}

TEST(ClusterTest, ThePictureHasALineForEachRuleAndChart) {
  const std::string picture = ClusterPicture({Simulate(SchedulerRule::kDefault), Simulate(SchedulerRule::kExtender)});
  std::size_t lines = 0;
  for (std::size_t at = picture.find("<polyline"); at != std::string::npos; at = picture.find("<polyline", at + 1))
    ++lines;
  EXPECT_EQ(lines, 6U);
  EXPECT_TRUE(picture.ends_with("</svg>\n"));
}

TEST(ClusterTest, ManifestsSayWhichPodsComeAndHowOften) {
  cluster::Fleet fleet;
  AddAlignedNodes(1, fleet);
  std::ostringstream err;
  const std::string pods = std::string(BERTH_SOURCE_DIR) + "/tests/golden/simulate/pods.yaml";
  const auto workload = MakeWorkload({.manifests = {pods, pods}, .pods = 50}, fleet, err);
  ASSERT_TRUE(workload.has_value()) << workload.error().message;
  EXPECT_EQ(workload->arrivals.size() - workload->filling, 50U);
  for (const PodKind& kind : workload->kinds) EXPECT_GE(kind.weight, 2U) << "the file was given twice";
  EXPECT_FALSE(MakeWorkload({.manifests = {"/nowhere/at/all"}}, fleet, err).has_value());
}

TEST(ClusterTest, NodesAreReadFromWords) {
  std::ostringstream err;
  const OfflineOptions usual{.machine = "numa:2(memory=8GB) core:4 pu:2"};
  const auto groups = ReadNodeGroups({"3", "2=numa:1(memory=4GB) core:2 pu:1"}, usual, err);
  ASSERT_TRUE(groups.has_value()) << groups.error().message;
  ASSERT_EQ(groups->size(), 2U);
  EXPECT_EQ((*groups)[0].count, 3U);
  EXPECT_EQ((*groups)[0].description.machine.nodes.size(), 2U);
  EXPECT_EQ((*groups)[1].count, 2U);
  EXPECT_EQ((*groups)[1].description.machine.nodes.size(), 1U);
  for (const char* word : {"", "0", "-1", "x", "many=host", "1000001", "2,config=/nowhere/at/all"})
    EXPECT_FALSE(ReadNodeGroups({word}, usual, err).has_value()) << word;
}

TEST(ZoneViewTest, BelievesThatAPodTookFromEveryZoneUntilItLooksAgain) {
  cluster::Fleet fleet;
  AddAlignedNodes(1, fleet);
  ZoneView view(fleet);
  const ZoneAsks four = view.AsksOf(ClusterPod("x", "4"));
  const ZoneAsks eight = view.AsksOf(ClusterPod("x", "8"));
  const ZoneAsks nine = view.AsksOf(ClusterPod("x", "9"));
  EXPECT_TRUE(view.Passes(eight, 0)) << "node 1 has eight";
  EXPECT_FALSE(view.Passes(nine, 0));
  ASSERT_TRUE(fleet.Assume(ClusterPod("one", "4"), 0).admitted);
  view.Reserve(four, 0);
  EXPECT_TRUE(view.Passes(four, 0));
  EXPECT_FALSE(view.Passes(eight, 0)) << "node 1 still has eight";
  view.Resync();
  EXPECT_TRUE(view.Passes(eight, 0));
}

}  // namespace
}  // namespace berth::offline
