#include "frontend/nri_agent/known_pod_specs.h"

#include <gtest/gtest.h>

#include <string>

namespace berth::nri_agent {
namespace {

Container SpecifiedContainer(const std::string& name, const std::string& cpu) {
  Container out;
  out.name = name;
  out.image = "image";
  out.resources.requests = {{"cpu", *Quantity::Parse(cpu)}, {"vendor.com/gpu", *Quantity::Parse("1")}};
  return out;
}
Pod SpecifiedPod(const std::string& uid) {
  Pod out;
  out.name = "web";
  out.uid = uid;
  out.init_containers = {SpecifiedContainer("setup", "500m"), SpecifiedContainer("proxy", "1")};
  out.init_containers[1].restartable_init = true;
  out.containers = {SpecifiedContainer("app", "2")};
  out.overhead = {{"cpu", *Quantity::Parse("100m")}};
  return out;
}

TEST(SpecsTest, WhatBearsOnPlacesIsKept) {
  Specs specs;
  specs.Set(SpecifiedPod("u-1"));
  const Pod* const spec = specs.Find("u-1");
  ASSERT_NE(nullptr, spec);
  ASSERT_EQ(2U, spec->init_containers.size());
  EXPECT_FALSE(spec->init_containers[0].restartable_init);
  EXPECT_TRUE(spec->init_containers[1].restartable_init);
  EXPECT_EQ("", spec->containers[0].image);
  EXPECT_EQ((ResourceList{{"cpu", *Quantity::Parse("2")}}), spec->containers[0].resources.requests);
  EXPECT_EQ((ResourceList{{"cpu", *Quantity::Parse("100m")}}), spec->overhead);
}

TEST(SpecsTest, APodThatWasMadeAnewIsAnother) {
  Specs specs;
  specs.Set(SpecifiedPod("u-1"));
  specs.Set(SpecifiedPod("u-2"));
  EXPECT_EQ(nullptr, specs.Find("u-1"));
  EXPECT_NE(nullptr, specs.Find("u-2"));
  specs.Forget("default", "web");
  specs.Forget("default", "web");
  EXPECT_EQ(nullptr, specs.Find("u-2"));
}

TEST(SpecsTest, WhatOnlyTheRuntimeHasShownStaysBehindTheSpecsContainers) {
  Specs specs;
  specs.Set(SpecifiedPod("u-1"));
  Pod pod;
  pod.containers = {SpecifiedContainer("setup", "1"), SpecifiedContainer("debugger", "1")};
  TakeSpec(pod, *specs.Find("u-1"));
  ASSERT_EQ(2U, pod.containers.size());
  EXPECT_EQ("app", pod.containers[0].name);
  EXPECT_EQ("debugger", pod.containers[1].name);
  EXPECT_EQ(2U, pod.init_containers.size());
}

}  // namespace
}  // namespace berth::nri_agent
