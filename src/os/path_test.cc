#include "os/path.h"

#include <gtest/gtest.h>

namespace berth::os {
namespace {

TEST(PathTest, AFolderHoldsItselfAndWhatIsBelowAndNotWhatBeginsLikeIt) {
  EXPECT_TRUE(IsAtOrBelow("/a/b", "/a/b"));
  EXPECT_TRUE(IsAtOrBelow("/a/b/c", "/a/b"));
  EXPECT_TRUE(IsAtOrBelow("/a", ""));
  EXPECT_FALSE(IsAtOrBelow("/a/bc", "/a/b"));
  EXPECT_FALSE(IsAtOrBelow("/a", "/a/b"));
}

}  // namespace
}  // namespace berth::os
