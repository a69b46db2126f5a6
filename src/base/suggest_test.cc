#include "base/suggest.h"

#include <gtest/gtest.h>

#include <string>

namespace berth {
namespace {

constexpr std::string_view kNames[] = {"containers", "initContainers", "restartPolicy", "resources", "env"};

TEST(SuggestTest, NamesTheNearest) {
  EXPECT_EQ(Nearest("contaners", kNames), "containers");
  EXPECT_EQ(Nearest("initcontainers", kNames), "initContainers");
  EXPECT_EQ(Nearest("resourcs", kNames), "resources");
  EXPECT_EQ(Nearest("envs", kNames), "env");
}

TEST(SuggestTest, SaysNothingWhenNothingIsNear) {
  EXPECT_EQ(Nearest("volumes", kNames), "");
  EXPECT_EQ(Nearest("x", kNames), "");
  EXPECT_EQ(Nearest("", kNames), "");
  EXPECT_EQ(Nearest(std::string(1000, 'a'), kNames), "");
}

TEST(SuggestTest, WhatIsNotAmongTheKnownIsNamedWithTheNearestAndAllOfThem) {
  constexpr std::string_view kKnown[] = {"pack", "spread"};
  EXPECT_EQ(NotAmong("spraed", kKnown), "\"spraed\" is not known (did you mean \"spread\"? there are pack, spread)");
  EXPECT_EQ(NotAmong("xyz", kKnown), "\"xyz\" is not known (there are pack, spread)");
}

}  // namespace
}  // namespace berth
