#include "host/cgroup/visitors.h"

#include <gtest/gtest.h>

namespace berth::cgroup {
namespace {

constexpr std::string_view kPodUid = "0a1b-2c";

TEST(Visitors, APodsGroupsAreKnownAsEitherDriverWritesThem) {
  EXPECT_TRUE(IsInPod("/kubepods/pod0a1b-2c/app", kPodUid));
  EXPECT_TRUE(IsInPod("/kubepods.slice/kubepods-pod0a1b_2c.slice/berth-0a1b_2c-app.scope", kPodUid));
  EXPECT_FALSE(IsInPod("/kubepods/podffff/app", kPodUid));
}

TEST(Visitors, WhoIsInOnlySomeOfThePodsGroupsIsNotThereYet) {
  const std::vector<std::string> holder = {"4:cpuset:/kubepods/pod0a1b-2c/app", "3:cpu:/kubepods/pod0a1b-2c/app",
                                           "1:name=systemd:/"};
  EXPECT_FALSE(SharesGroups({"4:cpuset:/kubepods/pod0a1b-2c/app", "3:cpu:/"}, holder, kPodUid));
  EXPECT_TRUE(
      SharesGroups({"4:cpuset:/kubepods/pod0a1b-2c/app", "3:cpu:/kubepods/pod0a1b-2c/app", "1:name=systemd:/user"},
                   holder, kPodUid));
}

TEST(Visitors, AHolderInNoneOfThePodsGroupsSharesNothing) {
  EXPECT_FALSE(SharesGroups({"4:cpuset:/"}, {"4:cpuset:/"}, kPodUid));
}

TEST(Visitors, WhoIsInNoGroupOfThePodCannotTakeAnybodyIn) {
  const auto visitors = Visitors::Make("no-such-pod");
  ASSERT_FALSE(visitors);
  EXPECT_EQ(visitors.error().code, Code::kNotFound);
}

}  // namespace
}  // namespace berth::cgroup
