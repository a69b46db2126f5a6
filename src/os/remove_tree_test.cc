#include "os/remove_tree.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "testing/fixtures.h"

namespace berth::os {
namespace {

namespace fs = std::filesystem;

TEST(RemoveTreeTest, RemovesAllThatIsBelowAndFollowsNoLink) {
  const testkit::TempDir temp;
  fs::create_directories(temp / "keep");
  std::ofstream(temp / "keep/file") << "kept";
  fs::create_directories(temp / "top/a/b");
  std::ofstream(temp / "top/a/file") << "gone";
  fs::create_symlink(temp / "keep", temp / "top/a/link");
  fs::create_symlink(temp / "keep/file", temp / "top/other");
  const auto removed = RemoveTree(temp / "top");
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_FALSE(fs::exists(temp / "top"));
  EXPECT_TRUE(fs::exists(temp / "keep/file"));
  EXPECT_TRUE(RemoveTree(temp / "top")) << "gone already";
  EXPECT_TRUE(RemoveTree(temp / "none/top"));
}

TEST(RemoveTreeTest, RemovesALinkAndNotWhatItLeadsTo) {
  const testkit::TempDir temp;
  fs::create_directories(temp / "keep/a");
  fs::create_directory_symlink(temp / "keep", temp / "link");
  EXPECT_TRUE(RemoveTree(temp / "link"));
  EXPECT_FALSE(fs::is_symlink(temp / "link"));
  EXPECT_TRUE(fs::exists(temp / "keep/a"));
}

TEST(RemoveTreeTest, SaysWhichDirectoriesLieTooDeepAndRemovesTheOthers) {
  const testkit::TempDir temp;
  std::string deep = temp / "top/0";
  for (int i = 0; i < 210; ++i) deep += "/d";
  fs::create_directories(deep);
  fs::create_directories(temp / "top/other");
  const auto removed = RemoveTree(temp / "top");
  ASSERT_FALSE(removed);
  EXPECT_EQ(Code::kInvalid, removed.error().code) << removed.error().message;
  EXPECT_FALSE(fs::exists(temp / "top/other"));
  EXPECT_TRUE(fs::exists(deep));
}

}  // namespace
}  // namespace berth::os
