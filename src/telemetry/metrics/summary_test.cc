#include "telemetry/metrics/summary.h"

#include <gtest/gtest.h>

namespace berth::metrics {
namespace {

using namespace std::chrono_literals;

TEST(SummaryTest, NodeTiersPodsAndContainersAreThere) {
  PodView pod;
  pod.namespace_ = "default";
  pod.name = "web";
  pod.uid = "u1";
  pod.admitted_at = WallTime(5s);
  ContainerView& app = pod.containers.emplace_back();
  app.name = "app";
  app.last = ContainerRun{.started_at = "1970-01-01T00:00:06Z"};
  GroupUsage used;
  used.cpu = 3s;
  NodeUsage usage{.at = WallTime(9s), .node_name = "n1"};
  usage.host.all.working_set = MiB(100);
  usage.host.memory = MiB(400);
  usage.host.booted_at = WallTime(1s);
  usage.groups["berthd"] = used;
  usage.groups["burstable"] = used;
  usage.pods.push_back({.pod = std::make_shared<const PodView>(pod), .usage = used, .containers = {{"app", used}}});
  const StatsSummary summary = SummaryOf(usage);
  EXPECT_EQ(summary.at, WallTime(9s));
  EXPECT_EQ(summary.node.name, "n1");
  EXPECT_EQ(summary.node.started_at, WallTime(1s));
  EXPECT_EQ(summary.node.available, MiB(300));
  ASSERT_EQ(summary.groups.size(), 2U);
  EXPECT_EQ(summary.groups[0].name, "kubelet") << "so a kubelet calls itself";
  EXPECT_EQ(summary.groups[1].name, "burstable");
  ASSERT_EQ(summary.pods.size(), 1U);
  EXPECT_EQ(summary.pods[0].started_at, WallTime(5s));
  EXPECT_EQ(summary.pods[0].usage, used);
  ASSERT_EQ(summary.pods[0].containers.size(), 1U);
  EXPECT_EQ(summary.pods[0].containers[0].started_at, WallTime(6s));
}

TEST(SummaryTest, HugePagesAreNotAvailable) {
  NodeUsage usage;
  usage.host.all.working_set = GiB(14);
  usage.host.memory = GiB(16);
  usage.host.huge_pages = GiB(2);
  EXPECT_EQ(SummaryOf(usage).node.available, Bytes{0});
  usage.host.all.working_set = GiB(13);
  EXPECT_EQ(SummaryOf(usage).node.available, GiB(1));
}

TEST(SummaryTest, WhatIsNotKnownIsLeftOut) {
  const StatsSummary summary = SummaryOf(NodeUsage());
  EXPECT_FALSE(summary.node.available);
  EXPECT_FALSE(summary.node.started_at);
  EXPECT_TRUE(summary.pods.empty());
}

}  // namespace
}  // namespace berth::metrics
