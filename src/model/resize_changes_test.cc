#include "model/resize_changes.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "model/pod_wishes.h"

namespace berth {
namespace {

Quantity Amount(const std::string& text) {
  const auto out = Quantity::Parse(text);
  EXPECT_TRUE(out) << text;
  return out.value_or(Quantity());
}

Container WithCpu(const std::string& name, const std::string& cpu) {
  Container out;
  out.name = name;
  out.resources.requests = {{"cpu", Amount(cpu)}, {"memory", Amount("64Mi")}};
  out.resources.limits = out.resources.requests;
  return out;
}

Pod OnePod(const std::string& cpu = "2") {
  Pod out;
  out.name = "web";
  out.init_containers = {WithCpu("init", "1"), WithCpu("side", "1")};
  out.init_containers[1].restartable_init = true;
  out.containers = {WithCpu("app", cpu)};
  return out;
}

std::string WhyNotTo(const Pod& wanted) {
  const auto why = WhyNotResizable(OnePod(), wanted);
  return why ? why->path + ": " + why->why : "";
}

TEST(ResizeTest, OnlyAmountsMayDifferBetweenVersionsOfOnePod) {
  Pod other = OnePod("4");
  other.annotations[std::string(kKeepCpusAnnotation)] = "app=2";
  EXPECT_EQ(WithoutAmounts(other), WithoutAmounts(OnePod()));
  Pod device = OnePod();
  device.containers[0].resources.limits["a.com/gpu"] = Amount("1");
  EXPECT_NE(WithoutAmounts(device), WithoutAmounts(OnePod()));
  Pod image = OnePod();
  image.containers[0].image = "another";
  EXPECT_NE(WithoutAmounts(image), WithoutAmounts(OnePod()));
}

TEST(ResizeTest, NumbersOfExclusiveCpusMayDifferAndTheirKindsMayNot) {
  const auto asking = [](const std::string& wish) {
    Pod out = OnePod();
    out.annotations["berth.dev/cpus"] = wish;
    return out;
  };
  const Pod two = asking("app=2 exclusive + shared, side=shared");
  EXPECT_EQ(WithoutAmounts(asking("app=1 exclusive+shared,side=shared")), WithoutAmounts(two));
  EXPECT_NE(WithoutAmounts(asking("app=2 exclusive,side=shared")), WithoutAmounts(two));
  EXPECT_NE(WithoutAmounts(asking("app=2 exclusive + shared")), WithoutAmounts(two));
  EXPECT_NE(WithoutAmounts(asking("app=x")), WithoutAmounts(asking("app=y"))) << "not understood: as it is written";
  Pod taken = two;
  TakeAmounts(taken, asking("app=1 exclusive + shared, side=shared"));
  EXPECT_EQ(taken, asking("app=1 exclusive + shared, side=shared"));
}

TEST(ResizeTest, OwnCpusAreWrittenByContainerWhereTheyDiffer) {
  Pod pod = OnePod();
  pod.annotations["berth.dev/cpus"] = "app=2 exclusive + shared,1 exclusive";
  const Pod before = pod;
  SetOwnCpus(pod, {{"app", 2}, {"side", 1}, {"init", 1}, {"other", 5}});
  EXPECT_EQ(pod, before);
  SetOwnCpus(pod, {{"app", 3}, {"side", 1}});
  EXPECT_EQ(pod.annotations["berth.dev/cpus"], "app=3 exclusive + shared, init=1 exclusive, side=1 exclusive");
  Pod plain = OnePod();
  SetOwnCpus(plain, {{"app", 3}});
  EXPECT_EQ(plain, OnePod()) << "it does not ask for them";
}

TEST(ResizeTest, AppsAndSidecarsAreResizedAndTheRestIsRefusedByItsPath) {
  EXPECT_EQ(WhyNotTo(OnePod("4")), "");
  Pod side = OnePod();
  side.init_containers[1] = WithCpu("side", "3");
  side.init_containers[1].restartable_init = true;
  EXPECT_EQ(WhyNotTo(side), "");
  Pod init = OnePod();
  init.init_containers[0] = WithCpu("init", "3");
  EXPECT_EQ(WhyNotTo(init), "spec.initContainers[0].resources: of init containers only sidecars can be resized");
  Pod whole = OnePod();
  whole.resources.emplace();
  EXPECT_EQ(WhyNotTo(whole), "spec.resources: resources of the pod as a whole cannot be changed while it runs");
  Pod less = OnePod();
  less.containers[0].resources.limits.erase("memory");
  EXPECT_EQ(WhyNotTo(less), "spec.containers[0].resources.limits.memory: it cannot be removed while the pod runs");
}

TEST(ResizeTest, AnotherClassIsRefused) {
  Pod burstable = OnePod();
  burstable.containers[0].resources.limits["cpu"] = Amount("3");
  EXPECT_EQ(WhyNotTo(burstable),
            "spec.containers: Pod QOS Class may not change as a result of resizing (it is Guaranteed, and would be "
            "Burstable)");
}

TEST(ResizeTest, TheAnnotationNamesCpusByContainer) {
  const auto kept = [](const std::string& text) {
    Pod pod = OnePod();
    pod.annotations[std::string(kKeepCpusAnnotation)] = text;
    return KeptCpus(pod);
  };
  const auto two = kept("app=2-3,8;side=5");
  ASSERT_TRUE(two) << two.error().message;
  EXPECT_EQ(FormatIds(two->at("app")), "2-3,8");
  EXPECT_EQ(FormatIds(two->at("side")), "5");
  EXPECT_TRUE(KeptCpus(OnePod())->empty());
  for (const char* const wrong : {"app", "app=", "app=x", "app=1;app=2", "=;", "app=3-1", ";"})
    EXPECT_FALSE(kept(wrong)) << wrong;
}

TEST(ResizeTest, WhatIsAllocatedIsPutIntoAPod) {
  Pod pod = OnePod("4");
  SetAllocated(pod, AllocatedOf(OnePod("1")));
  EXPECT_EQ(pod, OnePod("1"));
}

TEST(ResizeTest, OnlyChangesOfAResourceWithThatPolicyRestart) {
  Pod now = OnePod("2");
  now.containers[0].restart_to_resize = {"cpu"};
  Pod wanted = now;
  wanted.containers[0].resources.limits["memory"] = Amount("128Mi");
  EXPECT_TRUE(RestartedByResize(now, wanted).empty());
  wanted.containers[0].resources.requests["cpu"] = Amount("3");
  EXPECT_EQ(RestartedByResize(now, wanted), (std::map<std::string, std::string>{{"app", "cpu"}}));
}

}  // namespace
}  // namespace berth
