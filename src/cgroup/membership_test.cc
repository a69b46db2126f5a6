#include "cgroup/membership.h"

#include <gtest/gtest.h>

namespace berth::cgroup {
namespace {

TEST(MembershipTest, ALineNamesTheControllersAndTheGroup) {
  const auto group = ParseMembership("4:cpu,cpuacct:/a:b/c");
  ASSERT_TRUE(group);
  EXPECT_TRUE(group->Has("cpu"));
  EXPECT_TRUE(group->Has("cpuacct"));
  EXPECT_FALSE(group->Has("cpuset"));
  EXPECT_FALSE(group->v2());
  EXPECT_EQ(group->path, "/a:b/c");
}

TEST(MembershipTest, WithoutControllersItIsTheUnifiedHierarchy) {
  const auto group = ParseMembership("0::/a");
  ASSERT_TRUE(group);
  EXPECT_TRUE(group->v2());
  EXPECT_FALSE(group->Has("cpu"));
}

TEST(MembershipTest, WhatHasNoTwoColonsIsNoLine) {
  EXPECT_FALSE(ParseMembership(""));
  EXPECT_FALSE(ParseMembership("4:cpu"));
}

}  // namespace
}  // namespace berth::cgroup
