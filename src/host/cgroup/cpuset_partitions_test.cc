// Partitions of containers on a kernel played in memory.
#include "host/cgroup/cpuset_partitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/cgroup/host_tree.h"
#include "testing/fake_cgroups.h"
#include "testing/fault_fs.h"
#include "testing/fixtures.h"
#include "testing/memory_fs.h"

namespace berth::cgroup {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using testkit::Cpus;
using testkit::FakeCgroups;
using testkit::MemoryFs;

struct PartitionedHost {
  explicit PartitionedHost(FakeCgroups::Options options) : kernel(fs, std::move(options)) {
    auto opened =
        OpenTree(testkit::Share(fs), *DiscoverLayout(fs), "root",
                 {.kill = [](const auto&, const auto&) { return Result<void>(); }, .wait = [](os::Millis) {}});
    BERTH_CHECK(opened);
    tree = *std::move(opened);
    for (const char* path : {"kubepods/poda/x", "kubepods/poda/y", "kubepods/podb/z"}) {
      EXPECT_TRUE(tree->Create(path));
      plan.others.emplace_back(path);
    }
  }
  void Want(const std::string& path, std::string_view cpus) {
    plan.wanted[path] = Cpus(cpus);
    std::erase(plan.others, path);
  }
  PartitionOutcome Settle() {
    auto outcome = SettlePartitions(*tree, plan);
    EXPECT_TRUE(outcome) << outcome.error().message;
    return outcome ? *std::move(outcome) : PartitionOutcome();
  }
  std::string Kind(std::string_view path) {
    return kernel.Value("cpuset", "root/" + std::string(path), "cpuset.cpus.partition");
  }
  std::string Listed(std::string_view path) {
    return kernel.Value("cpuset", path.empty() ? "root" : "root/" + std::string(path), "cpuset.cpus.exclusive");
  }

  MemoryFs fs;
  FakeCgroups kernel;
  std::unique_ptr<Tree> tree;
  PartitionPlan plan{.kind = "isolated", .wanted = {}, .others = {}, .levels = {"kubepods"}};
};

TEST(PartitionsTest, LevelsListWhatThePartitionsBelowNeedAndNoMore) {
  PartitionedHost host({.v2 = true, .cpus = "0-7", .partitions = true});
  host.Want("kubepods/poda/x", "2-3");
  host.Want("kubepods/podb/z", "5");
  EXPECT_THAT(host.Settle().changed, ElementsAre("kubepods/poda/x", "kubepods/podb/z"));
  EXPECT_EQ("isolated", host.Kind("kubepods/poda/x"));
  EXPECT_EQ("isolated", host.Kind("kubepods/podb/z"));
  EXPECT_EQ("member", host.Kind("kubepods/poda/y"));
  EXPECT_EQ("2-3,5", host.Listed(""));
  EXPECT_EQ("2-3,5", host.Listed("kubepods"));
  EXPECT_EQ("2-3", host.Listed("kubepods/poda"));

  const std::uint64_t before = host.tree->writes();
  EXPECT_THAT(host.Settle().changed, IsEmpty());
  EXPECT_EQ(before, host.tree->writes()) << "nothing differs";

  host.plan.wanted.erase("kubepods/poda/x");
  host.plan.others.emplace_back("kubepods/poda/x");
  ASSERT_TRUE(EndPartitions(*host.tree, host.plan));
  EXPECT_EQ("member", host.Kind("kubepods/poda/x"));
  EXPECT_EQ("isolated", host.Kind("kubepods/podb/z"));
  EXPECT_EQ("5", host.Listed("kubepods"));
  EXPECT_EQ("", host.Listed("kubepods/poda"));
}

TEST(PartitionsTest, WhatSomebodyElseEndedIsMadeAgainAndTold) {
  PartitionedHost host({.v2 = true, .cpus = "0-7", .partitions = true});
  host.Want("kubepods/poda/x", "2-3");
  host.Settle();
  ASSERT_TRUE(host.kernel.ForeignWrite("cpuset", "root/kubepods/poda/x", "cpuset.cpus.partition", "member"));
  EXPECT_THAT(host.Settle().changed, ElementsAre("kubepods/poda/x"));
  EXPECT_EQ("isolated", host.Kind("kubepods/poda/x"));
  ASSERT_TRUE(host.kernel.ForeignWrite("cpuset", "root/kubepods", "cpuset.cpus.exclusive", "0"));
  host.Settle();
  EXPECT_EQ("isolated", host.Kind("kubepods/poda/x"));
  EXPECT_EQ("2-3", host.Listed("kubepods"));
}

TEST(PartitionsTest, OneThatTheKernelRefusesStaysAMemberAndTheOthersAreMade) {
  PartitionedHost host({.v2 = true, .cpus = "0-7", .partitions = true});
  host.Want("kubepods/poda/x", "2-3");
  host.Want("kubepods/podb/z", "");  // the kernel makes no partition without CPUs
  const PartitionOutcome outcome = host.Settle();
  EXPECT_THAT(outcome.refused, ElementsAre(Pair("kubepods/podb/z", HasSubstr("Invalid cpu list"))));
  EXPECT_EQ("member", host.Kind("kubepods/podb/z"));
  EXPECT_EQ("isolated", host.Kind("kubepods/poda/x"));
  EXPECT_EQ("2-3", host.Listed("kubepods"));
}

TEST(PartitionsTest, GoneContainersAreNoError) {
  PartitionedHost host({.v2 = true, .cpus = "0-7", .partitions = true});
  host.Want("kubepods/podc/gone", "2");
  const PartitionOutcome outcome = host.Settle();
  EXPECT_THAT(outcome.changed, IsEmpty());
  EXPECT_THAT(outcome.refused, IsEmpty());
}

TEST(PartitionsTest, SaysWhatAKernelLacks) {
  EXPECT_EQ("", *WhyNoPartitions(*PartitionedHost({.v2 = true, .partitions = true}).tree, "kubepods"));
  EXPECT_THAT(*WhyNoPartitions(*PartitionedHost({.v2 = false}).tree, "kubepods"), HasSubstr("needs cgroup v2"));
}

}  // namespace
}  // namespace berth::cgroup
