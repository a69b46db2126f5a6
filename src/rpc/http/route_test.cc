#include "rpc/http/route.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::http {
namespace {

using testing::ElementsAre;
using testing::Optional;

TEST(RouteTest, PercentSignsAreDecodedOrRefused) {
  EXPECT_THAT(DecodePercent("a%20b%2fc%2Fd%25"), Optional(std::string("a b/c/d%")));
  EXPECT_THAT(DecodePercent(""), Optional(std::string()));
  for (const char* const wrong : {"%", "%2", "%zz", "%2g", "%-1", "%+1", "a%", "%00", "%%41"})
    EXPECT_FALSE(DecodePercent(wrong)) << wrong;
}

TEST(RouteTest, PathsFitSegmentBySegment) {
  const auto match = [](std::string_view pattern, std::string_view path) {
    return MatchPath(pattern, SplitPath(path).value());
  };
  EXPECT_TRUE(match("/v1/pods", "/v1/pods"));
  EXPECT_FALSE(match("/v1/pods", "/v1/pods/"));
  EXPECT_FALSE(match("/v1/pods", "/v1/Pods"));
  EXPECT_THAT(*match("/v1/pods/{}/{}", "/v1/pods/a%2Fb/c"), ElementsAre("a/b", "c"));
  EXPECT_FALSE(match("/v1/pods/{}/{}", "/v1/pods//c"));
  EXPECT_FALSE(match("/v1/pods/{}/{}", "/v1/pods/a/b/c"));
  EXPECT_THAT(*match("/v1/logs/{}/{?}", "/v1/logs/a/"), ElementsAre("a", ""));
  EXPECT_FALSE(match("/v1/logs/{}/{?}", "/v1/logs/a"));
  EXPECT_FALSE(match("/v1", "*"));
}

}  // namespace
}  // namespace berth::http
