#include "node/pods/mixed_cpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <string>

#include "testing/fixtures.h"

namespace berth::pods {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

CpuSet Cpus(const char* text) { return *CpuSet::Parse(text); }

TEST(MixedCpusTest, WhatTheManifestSaysItselfStays) {
  const Placement placement{.container = "c", .cpus = Cpus("2-3"), .mixed = true};
  runtime::Environment env{{"BERTH_CPUS_SHARED", "mine"}, {"A", "b"}};
  AddMixedCpus(placement, Cpus("0-1,4"), "/x/shared", env);
  EXPECT_THAT(env, ElementsAre(Pair("BERTH_CPUS_SHARED", "mine"), Pair("A", "b"), Pair("BERTH_CPUS_EXCLUSIVE", "2-3"),
                               Pair("BERTH_CPUS_SHARED_FILE", "/x/shared")));
}

TEST(MixedCpusTest, OnlyContainersWithBothAreTold) {
  PodOptions options;
  Placement placement{.container = "c", .cpus = Cpus("2-3"), .mixed = true};
  EXPECT_FALSE(IsTold(options, &placement)) << "nowhere to tell it";
  options.pool = "/run/berth/cpus";
  EXPECT_TRUE(IsTold(options, &placement));
  EXPECT_FALSE(IsTold(options, nullptr));
  Ledger ledger;
  ledger.pods["a"].placements = {placement};
  EXPECT_TRUE(IsAnyoneTold(options, ledger));
  placement.mixed = false;
  EXPECT_FALSE(IsTold(options, &placement));
  ledger.pods["a"].placements = {placement};
  EXPECT_FALSE(IsAnyoneTold(options, ledger));
}

TEST(MixedCpusTest, TheFileFollowsThePoolAndAnybodyMayReadIt) {
  const testkit::TempDir temp;
  PodOptions options;
  options.pool = temp / "cpus";
  ASSERT_TRUE(WritePool(options, Cpus("0-3")));
  EXPECT_EQ(testkit::ReadText(options.pool + "/shared"), "0-3\n");
  ASSERT_TRUE(WritePool(options, Cpus("0,3")));
  EXPECT_EQ(testkit::ReadText(options.pool + "/shared"), "0,3\n");
  struct stat stat = {};
  ASSERT_EQ(::stat((options.pool + "/shared").c_str(), &stat), 0);
  EXPECT_EQ(stat.st_mode & 0777U, 0644U);
  options.pool = "/dev/null/cpus";
  EXPECT_FALSE(WritePool(options, Cpus("0")));
}

}  // namespace
}  // namespace berth::pods
