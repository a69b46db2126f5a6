#include "host/cgroup/membership.h"

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

TEST(MembershipTest, AGroupIsNamedByWhatAMountPointShowsOfItsHierarchy) {
  const ControllerMount whole{.controller = "cpuset", .mount = "/m"};
  EXPECT_EQ(WithinMount(whole, "/a/b"), "/a/b");
  EXPECT_EQ(WithinMount(whole, "/../b"), std::nullopt);
  const ControllerMount part{.controller = "cpuset", .mount = "/m", .root = "/a"};
  EXPECT_EQ(WithinMount(part, "/a/b"), "/b");
  EXPECT_EQ(WithinMount(part, "/a"), "/");
  EXPECT_EQ(WithinMount(part, "/ab"), std::nullopt);
  EXPECT_EQ(WithinMount(part, "/"), std::nullopt);
}

TEST(MembershipTest, ALineIsOfAMountPointByControllerOrVersion) {
  const ControllerMount v1{.controller = "cpu", .mount = "/m"};
  const ControllerMount v2{.controller = "cpu", .mount = "/m", .v2 = true};
  EXPECT_TRUE(IsOf(*ParseMembership("4:cpu,cpuacct:/a"), v1));
  EXPECT_FALSE(IsOf(*ParseMembership("4:cpu,cpuacct:/a"), v2));
  EXPECT_TRUE(IsOf(*ParseMembership("0::/a"), v2));
  EXPECT_FALSE(IsOf(*ParseMembership("0::/a"), v1));
}

}  // namespace
}  // namespace berth::cgroup
