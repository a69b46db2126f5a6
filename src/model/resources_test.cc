#include "model/resources.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

TEST(ResourcesTest, NamesOfHugePagesAndTheirSizesGoBothWays) {
  EXPECT_EQ("hugepages-2Mi", HugePagesName(MiB(2)));
  EXPECT_EQ("hugepages-64Ki", HugePagesName(KiB(64)));
  EXPECT_EQ(GiB(1), PageSizeOf("hugepages-1Gi"));
  for (const char* const bad : {"memory", "hugepages-", "hugepages-0", "hugepages--2Mi", "hugepages-1m", "hugepages-x"})
    EXPECT_EQ(std::nullopt, PageSizeOf(bad)) << bad;
}

TEST(ResourcesTest, MemoryLiesOnNodesAndPodsAsAWholeTakeCpusToo) {
  EXPECT_TRUE(IsMemoryType("memory") && IsMemoryType("hugepages-1Gi"));
  EXPECT_FALSE(IsMemoryType("cpu") || IsMemoryType("ephemeral-storage"));
  EXPECT_TRUE(CountsAtPodLevel("cpu") && CountsAtPodLevel("memory") && CountsAtPodLevel("hugepages-2Mi"));
  EXPECT_FALSE(CountsAtPodLevel("vendor.example/gpu"));
  EXPECT_TRUE(IsNativeResource("pods") && IsNativeResource("hugepages-2Mi"));
  EXPECT_FALSE(IsNativeResource("vendor.example/gpu"));
}

TEST(ResourcesTest, WhatAListDoesNotNameIsNothing) {
  const ResourceList list = {{"cpu", Quantity::FromUnits(2)}};
  EXPECT_EQ(2, AmountOf(list, "cpu").Value());
  EXPECT_TRUE(AmountOf(list, "memory").IsZero());
}

}  // namespace
}  // namespace berth
