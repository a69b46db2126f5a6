#include "beside/annotations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::beside {
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
                                  {"prefer-isolated-cpus.resource-policy.nri.io/pod", "true"},
                                  {"hide-hyperthreads.resource-policy.nri.io/pod", "false"},
                                  {"scheduling-class.resource-policy.nri.io/pod", "idle"},
                                  {"unrelated.example/pod", "true"}};
  EXPECT_THAT(WishesOf(annotations, "a").ignored,
              ElementsAre(HasSubstr("there are no balloons"), HasSubstr("prefer-isolated-cpus"),
                          HasSubstr("scheduling-class.resource-policy.nri.io: nothing here is told by it")));
  EXPECT_EQ(WishesOf(annotations, "b").ignored.size(), 2U);
  EXPECT_EQ(WishesOf({}, "a"), Wishes());
}

TEST(AnnotationsTest, JunkIsNoWish) {
  EXPECT_EQ(WishesOf({{"/", "true"}, {"", ""}, {"resource-policy.nri.io/container.", "x"}}, "a"), Wishes());
  EXPECT_FALSE(WishesOf({{"prefer-shared-cpus.resource-policy.nri.io/pod", "TRUE?"}}, "a").shared);
}

}  // namespace
}  // namespace berth::beside
