#include "host/os/remove_tree.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "host/os/unique_fd.h"
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

TEST(RemoveTreeTest, RemovesDirectoriesHoweverDeepTheyLie) {
  const testkit::TempDir temp;
  fs::create_directories(temp / "top/other");
  fs::create_directories(temp / "top/berth-deep-0/taken");
  UniqueFd folder(::open((temp / "top").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < 1'000; ++i) {  // longer than a path may be
    ASSERT_EQ(::mkdirat(folder.get(), "deeper", 0700), 0);
    ASSERT_EQ(::mkdirat(folder.get(), "beside", 0700), 0);
    folder = UniqueFd(::openat(folder.get(), "deeper", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  const auto removed = RemoveTree(temp / "top");
  EXPECT_TRUE(removed) << removed.error().message;
  EXPECT_FALSE(fs::exists(temp / "top"));
}

}  // namespace
}  // namespace berth::os
