#include "testing/fault_fs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/memory_fs.h"

namespace berth::testkit {
namespace {

using ::testing::ElementsAre;

TEST(FaultFsTest, FailsOnlyTheChosenChange) {
  MemoryFs disk({{"a", "1"}, {"b", "1"}});
  FaultFs fs(disk, {.at = 1, .kind = FaultFs::Kind::kFail, .sys = ENOSPC});
  EXPECT_TRUE(fs.Write("a", "2"));
  EXPECT_EQ(ENOSPC, fs.Write("b", "2").error().sys);
  EXPECT_TRUE(fs.Write("b", "3"));
  EXPECT_THAT(disk.log(), ElementsAre("write a 2", "write b 3"));
  EXPECT_EQ(3, fs.changes());
}

TEST(FaultFsTest, FailsOnUntilItIsHealed) {
  MemoryFs disk{{"a", "old"}};
  FaultFs fs(disk, {.at = 1, .kind = FaultFs::Kind::kFailOn, .sys = EROFS});
  EXPECT_TRUE(fs.Write("a", "1"));
  EXPECT_EQ(EROFS, fs.Write("a", "2").error().sys);
  EXPECT_EQ(EROFS, fs.RemoveFile("a").error().sys);
  EXPECT_EQ("1", *fs.Read("a"));
  fs.Heal();
  EXPECT_TRUE(fs.Write("a", "3"));
  EXPECT_EQ("3", *disk.Content("a"));
}

TEST(FaultFsTest, NothingWorksAfterACrash) {
  MemoryFs disk({{"a", "1"}});
  FaultFs fs(disk, {.at = 0, .kind = FaultFs::Kind::kCrashAfter});
  EXPECT_FALSE(fs.Write("a", "2"));
  EXPECT_FALSE(fs.Read("a"));
  EXPECT_FALSE(fs.Replace("a", "3"));
  EXPECT_EQ("2", disk.Content("a"));
}

TEST(FaultFsTest, ACrashInReplaceLeavesTheOldFileAndHalfATemporary) {
  MemoryFs disk({{"d/state", "old"}});
  FaultFs fs(disk, {.at = 0, .kind = FaultFs::Kind::kCrash});
  EXPECT_FALSE(fs.Replace("d/state", "newnew"));
  EXPECT_EQ("old", disk.Content("d/state"));
  EXPECT_EQ("new", disk.Content("d/.state.tmp"));
}

TEST(FaultFsTest, AShortWriteLeavesHalf) {
  MemoryFs disk({{"a", "old"}});
  FaultFs fs(disk, {.at = 0, .kind = FaultFs::Kind::kShortWrite});
  EXPECT_FALSE(fs.Write("a", "1234"));
  EXPECT_EQ("12", disk.Content("a"));
}

TEST(MemoryFsTest, HooksPlayTheKernel) {
  MemoryFs fs;
  fs.set_hooks({.before_write = [](const std::string&, std::string_view s) -> Result<void> {
                  if (s == "bad") return FailErrno("write", "x", EINVAL);
                  return {};
                },
                .after_write = {},
                .before_make_dir = {},
                .after_make_dir = [&fs](const std::string& path) { fs.AddFile(path + "/cgroup.procs", ""); },
                .before_remove_dir = [](const std::string&) -> Result<void> { return {}; },
                .on_read = {}});
  ASSERT_TRUE(fs.MakeDir("a"));
  EXPECT_EQ(EINVAL, fs.Write("a/cgroup.procs", "bad").error().sys);
  EXPECT_EQ("", fs.Content("a/cgroup.procs"));
  ASSERT_TRUE(fs.RemoveDir("a")) << "files go with the directory, as in cgroupfs";
  EXPECT_THAT(fs.log(), ElementsAre("mkdir a", "rmdir a"));
}

}  // namespace
}  // namespace berth::testkit
