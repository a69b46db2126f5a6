#include "host/os/file_set.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "host/os/disk_usage.h"
#include "host/os/whole_file.h"
#include "testing/fixtures.h"

namespace berth::os {
namespace {

namespace fs = std::filesystem;

unsigned ModeOf(const std::string& path) {
  struct stat is{};
  EXPECT_EQ(::stat(path.c_str(), &is), 0) << path;
  return is.st_mode & 07777;
}

TEST(FileSetTest, WhatIsSeenAreLinksThroughOneThatMoves) {
  const testkit::TempDir temp;
  const std::string folder = temp / "v";
  fs::create_directory(folder);
  ASSERT_TRUE(ReplaceFiles(folder, {{"a", {"one", 0640}}, {"d/b", {"two", 0400}}}, std::nullopt).value_or(false));
  EXPECT_EQ(TextOf(folder + "/a"), "one");
  EXPECT_EQ(TextOf(folder + "/d/b"), "two");
  EXPECT_EQ(ModeOf(folder + "/a"), 0640U);
  EXPECT_EQ(ModeOf(folder + "/d/b"), 0400U);
  EXPECT_EQ(fs::read_symlink(folder + "/a"), "..data/a");
  EXPECT_EQ(fs::read_symlink(folder + "/d"), "..data/d");
  const std::string first = fs::read_symlink(folder + "/..data");
  EXPECT_FALSE(ReplaceFiles(folder, {{"./a", {"one", 0640}}, {"d//b", {"two", 0400}}}, std::nullopt).value_or(true));
  EXPECT_EQ(fs::read_symlink(folder + "/..data"), first) << "nothing changed";
  ASSERT_TRUE(ReplaceFiles(folder, {{"a", {"three", 0640}}, {"c", {"", 0644}}}, std::nullopt).value_or(false));
  EXPECT_EQ(TextOf(folder + "/a"), "three");
  EXPECT_FALSE(fs::exists(fs::symlink_status(folder + "/d")));
  EXPECT_FALSE(fs::exists(folder + "/" + first));
  ASSERT_TRUE(ReplaceFiles(folder, {}, std::nullopt).value_or(false));
  EXPECT_FALSE(fs::exists(fs::symlink_status(folder + "/a")));
}

TEST(FileSetTest, WhoHasAFileOpenKeepsIt) {
  const testkit::TempDir temp;
  const std::string folder = temp / "v";
  fs::create_directory(folder);
  ASSERT_TRUE(ReplaceFiles(folder, {{"a", {"one"}}}, std::nullopt));
  const int fd = ::open((folder + "/a").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_TRUE(ReplaceFiles(folder, {{"a", {"two"}}}, std::nullopt));
  std::array<char, 3> text{};
  EXPECT_EQ(::read(fd, text.data(), text.size()), 3);
  ::close(fd);
  EXPECT_EQ(std::string(text.data(), 3), "one");
}

TEST(FileSetTest, LinksAndLeftoversInTheFolderLeadNowhere) {
  const testkit::TempDir temp;
  const std::string folder = temp / "v";
  const std::string outside = temp / "outside";
  fs::create_directories(folder + "/..2020_01_01_00_00_00.1");
  fs::create_directory(outside);
  std::ofstream(outside + "/key") << "kept";
  fs::create_directory_symlink(outside, folder + "/..data");
  fs::create_symlink(outside + "/key", folder + "/a");
  fs::create_symlink(outside + "/key", folder + "/..data_tmp");
  fs::create_directory_symlink(outside, folder + "/d");
  ASSERT_TRUE(ReplaceFiles(folder, {{"a", {"one"}}, {"d/key", {"two"}}}, std::nullopt).value_or(false));
  EXPECT_EQ(TextOf(outside + "/key"), "kept");
  EXPECT_EQ(TextOf(folder + "/d/key"), "two");
  EXPECT_FALSE(fs::exists(folder + "/..2020_01_01_00_00_00.1"));
  EXPECT_EQ(std::distance(fs::directory_iterator(outside), fs::directory_iterator()), 1);
}

TEST(FileSetTest, PathsThatLeadOutAreRefusedAndTheOldFilesStay) {
  const testkit::TempDir temp;
  const std::string folder = temp / "v";
  fs::create_directory(folder);
  ASSERT_TRUE(ReplaceFiles(folder, {{"a", {"one"}}}, std::nullopt));
  for (const char* path : {"../x", "/etc/x", "a/../../x", "..data", "", "."})
    EXPECT_EQ(ReplaceFiles(folder, {{path, {"x"}}}, std::nullopt).error().code, Code::kInvalid) << path;
  EXPECT_FALSE(ReplaceFiles(folder, {{"b", {"x"}}, {"b/c", {"y"}}}, std::nullopt));
  EXPECT_EQ(TextOf(folder + "/a"), "one");
  EXPECT_FALSE(fs::exists(temp / "x"));
}

TEST(DiskUsageTest, CountsBlocksOnceAndStopsWhenItIsEnough) {
  const testkit::TempDir temp;
  const std::string folder = temp / "v";
  fs::create_directories(folder + "/d");
  std::ofstream(folder + "/d/a") << std::string(1U << 20, 'x');
  fs::create_hard_link(folder + "/d/a", folder + "/b");
  fs::create_directory_symlink("/usr", folder + "/out");
  const Result<Bytes> used = DiskUsage(folder, MiB(100));
  ASSERT_TRUE(used);
  EXPECT_GE(used->v, 1 << 20);
  EXPECT_LT(used->v, 2 << 20);
  EXPECT_GT(DiskUsage(folder, Bytes{4096})->v, 4096);
  EXPECT_FALSE(DiskUsage(folder + "/none", MiB(1)));
}

}  // namespace
}  // namespace berth::os
