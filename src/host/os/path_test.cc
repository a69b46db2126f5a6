#include "host/os/path.h"

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

TEST(PathTest, ARelativePathIsSeenFromAFolderAndAnAbsoluteOneIsItself) {
  EXPECT_EQ("/a/b", SeenFrom("/a", "b"));
  EXPECT_EQ("/b", SeenFrom("/", "b"));
  EXPECT_EQ("/a/c", SeenFrom("/a/b", "../c"));
  EXPECT_EQ("/a/c", SeenFrom("/a", "./b/../c"));
  EXPECT_EQ("/c", SeenFrom("/a", "/b/../c"));
  EXPECT_EQ("", SeenFrom("/a", ""));
  for (const char* const path : {".", "./", "b/.."}) EXPECT_EQ("/a", SeenFrom("/a", path));
  EXPECT_EQ("/", SeenFrom("/a", ".."));
}

}  // namespace
}  // namespace berth::os
