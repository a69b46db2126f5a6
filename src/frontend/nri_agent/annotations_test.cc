#include "frontend/nri_agent/annotations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::nri_agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(AnnotationsTest, TheNearestOneCounts) {
  const nri::Texts annotations = {{"prefer-shared-cpus.resource-policy.nri.io", "true"},
                                  {"prefer-shared-cpus.resource-policy.nri.io/pod", "false"},
                                  {"prefer-shared-cpus.resource-policy.nri.io/container.a", "true"}};
  EXPECT_TRUE(WishesOf(annotations, "a").shared);
  EXPECT_FALSE(WishesOf(annotations, "b").shared);
  EXPECT_TRUE(WishesOf({{"prefer-shared-cpus.resource-policy.nri.io", "true"}}, "b").shared);
}

TEST(AnnotationsTest, WhoIsNotToBeTouchedHasNoCpusOfItsOwn) {
  EXPECT_TRUE(WishesOf({{"cpu.preserve.resource-policy.nri.io/pod", "true"}}, "a").shared);
  EXPECT_FALSE(WishesOf({{"cpu.preserve.resource-policy.nri.io/pod", "false"}}, "a").shared);
}

TEST(AnnotationsTest, WhatHasNoEffectIsNamedOnceForEachContainerItIsFor) {
  const nri::Texts annotations = {{"balloon.balloons.resource-policy.nri.io/container.a", "fast"},
                                  {"memory.preserve.resource-policy.nri.io/pod", "true"},
                                  {"hide-hyperthreads.resource-policy.nri.io/pod", "false"},
                                  {"scheduling-class.resource-policy.nri.io/pod", "idle"},
                                  {"unrelated.example/pod", "true"}};
  EXPECT_THAT(WishesOf(annotations, "a").ignored,
              ElementsAre(HasSubstr("asked for by berth.dev/pool"), HasSubstr("memory.preserve"),
                          HasSubstr("scheduling-class.resource-policy.nri.io: nothing here is told by it")));
  EXPECT_EQ(WishesOf(annotations, "b").ignored.size(), 2U);
  EXPECT_EQ(WishesOf({}, "a"), Wishes());
}

TEST(AnnotationsTest, IsolatedCpusAreAskedForWhereTheNodeLetsThePod) {
  Pod pod;
  pod.annotations = {{"prefer-isolated-cpus.resource-policy.nri.io/pod", "true"},
                     {"require-isolated-cpus.resource-policy.nri.io/container.b", "true"}};
  EXPECT_EQ(WishesOf(pod.annotations, "a").isolated, IsolatedCpus::kPrefer);
  EXPECT_EQ(WishesOf(pod.annotations, "b").isolated, IsolatedCpus::kRequire);
  EXPECT_EQ(AsWished(pod, "a", {}), pod);
  EXPECT_THAT(IsolatedRefused(pod, "a", {}), HasSubstr("podPolicies have no rule that lets it have isolated=prefer"));
  OwnRules own;
  PodPolicy& policy = own.pods.emplace_back();
  policy.namespaces = {"*"};
  policy.cpu_options = {"isolated=*", "l3=strict"};
  EXPECT_EQ(IsolatedRefused(pod, "a", own), "");
  EXPECT_EQ(AsWished(pod, "b", own).annotations.at("berth.dev/cpu-options"), "isolated=require");
  pod.annotations["berth.dev/cpu-options"] = "l3=strict";
  EXPECT_EQ(AsWished(pod, "a", own).annotations.at("berth.dev/cpu-options"), "l3=strict, isolated=prefer");
  pod.annotations["berth.dev/cpu-options"] = "isolated=avoid";
  EXPECT_EQ(AsWished(pod, "a", own), pod) << "Berth's own annotation counts";
}

TEST(AnnotationsTest, JunkIsNoWish) {
  EXPECT_EQ(WishesOf({{"/", "true"}, {"", ""}, {"resource-policy.nri.io/container.", "x"}}, "a"), Wishes());
  EXPECT_FALSE(WishesOf({{"prefer-shared-cpus.resource-policy.nri.io/pod", "TRUE?"}}, "a").shared);
}

}  // namespace
}  // namespace berth::nri_agent
