#include "rpc/nri/launch.h"

#include <gtest/gtest.h>

#include <map>

namespace berth::nri {
namespace {

Result<std::optional<Launch>> With(const std::map<std::string, std::string>& variables) {
  return FindLaunch([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(LaunchTest, ARuntimeThatLaunchesAPlugInSaysWhoAndWhere) {
  const auto launch = With({{"NRI_PLUGIN_NAME", "berth"}, {"NRI_PLUGIN_IDX", "10"}, {"NRI_PLUGIN_SOCKET", "3"}});
  ASSERT_TRUE(launch && *launch);
  EXPECT_EQ("berth", (*launch)->name);
  EXPECT_EQ("10", (*launch)->index);
  EXPECT_EQ(3, (*launch)->socket);
}

TEST(LaunchTest, WithoutASocketNobodyHasLaunchedIt) {
  const auto launch = With({{"NRI_PLUGIN_NAME", "berth"}});
  ASSERT_TRUE(launch);
  EXPECT_FALSE(*launch);
}

TEST(LaunchTest, WhatIsNoDescriptorOrNoIdentityIsRefused) {
  EXPECT_FALSE(With({{"NRI_PLUGIN_NAME", "berth"}, {"NRI_PLUGIN_IDX", "10"}, {"NRI_PLUGIN_SOCKET", "x"}}));
  EXPECT_FALSE(With({{"NRI_PLUGIN_NAME", "berth"}, {"NRI_PLUGIN_IDX", "10"}, {"NRI_PLUGIN_SOCKET", "-1"}}));
  EXPECT_FALSE(With({{"NRI_PLUGIN_NAME", "berth"}, {"NRI_PLUGIN_IDX", "1"}, {"NRI_PLUGIN_SOCKET", "3"}}));
  EXPECT_FALSE(With({{"NRI_PLUGIN_NAME", "be rth"}, {"NRI_PLUGIN_IDX", "10"}, {"NRI_PLUGIN_SOCKET", "3"}}));
  EXPECT_FALSE(With({{"NRI_PLUGIN_IDX", "10"}, {"NRI_PLUGIN_SOCKET", "3"}}));
}

}  // namespace
}  // namespace berth::nri
