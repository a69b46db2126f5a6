#include "host/os/trusted_path.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "testing/fixtures.h"

namespace berth::os {
namespace {

class TrustedPathTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directory(folder_);
    ::chmod(folder_.c_str(), 0755);
    std::ofstream(file_) << "text";
    ::chmod(file_.c_str(), 0644);
  }
  static std::string MessageOf(const std::string& path) {
    const auto checked = CheckTrusted(path);
    if (checked) return "";
    EXPECT_EQ(checked.error().code, Code::kPermission);
    return checked.error().message;
  }

  testkit::TempDir dir_;
  std::string folder_ = dir_ / "pods";
  std::string file_ = folder_ + "/a.yaml";
};

TEST_F(TrustedPathTest, AFileOfOursThatOthersCanOnlyReadIsTrusted) { EXPECT_EQ(MessageOf(file_), ""); }

TEST_F(TrustedPathTest, AFileThatOthersCanWriteIsNot) {
  for (const mode_t mode : {0664U, 0646U, 0666U}) {
    ::chmod(file_.c_str(), mode);
    EXPECT_EQ(MessageOf(file_), file_ + " is writable for others than its owner; if it is meant: chmod go-w " + file_);
  }
}

TEST_F(TrustedPathTest, AFolderThatOthersCanWriteIsNotUnlessItIsSticky) {
  ::chmod(folder_.c_str(), 0777);
  EXPECT_EQ(MessageOf(file_),
            folder_ + " is writable for others than its owner; if it is meant: chmod go-w " + folder_);
  ::chmod(folder_.c_str(), 01777);
  EXPECT_EQ(MessageOf(file_), "");
}

TEST_F(TrustedPathTest, ALinkIsAsGoodAsTheWayItTakesAndWhereItLeads) {
  const std::string other = dir_ / "other";
  std::filesystem::create_directory(other);
  ::chmod(other.c_str(), 0777);
  std::ofstream(other + "/b.yaml") << "text";
  ::chmod((other + "/b.yaml").c_str(), 0644);
  std::filesystem::create_symlink(other + "/b.yaml", folder_ + "/link.yaml");
  EXPECT_EQ(MessageOf(folder_ + "/link.yaml"),
            other + " is writable for others than its owner; if it is meant: chmod go-w " + other);

  std::filesystem::create_symlink(file_, other + "/back.yaml");
  EXPECT_NE(MessageOf(other + "/back.yaml"), "") << "others could make the link lead elsewhere";
}

TEST_F(TrustedPathTest, AFileOfAnotherUserIsNot) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  ASSERT_EQ(::chown(file_.c_str(), 1234, 0), 0);
  EXPECT_EQ(MessageOf(file_),
            file_ + " belongs to user 1234, who could change it; if it is meant: chown root " + file_);
}

TEST_F(TrustedPathTest, WhatIsMissingIsSaid) {
  const auto checked = CheckTrusted(folder_ + "/none");
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().code, Code::kNotFound);
}

TEST_F(TrustedPathTest, WhoCanReadAFileIsWhomItsModeAndAllFoldersLet) {
  ::chmod(dir_.path().c_str(), 0755);
  EXPECT_TRUE(OthersCanRead(file_));
  ::chmod(file_.c_str(), 0600);
  EXPECT_FALSE(OthersCanRead(file_));
  ::chmod(file_.c_str(), 0604);
  ::chmod(folder_.c_str(), 0711);
  EXPECT_TRUE(OthersCanRead(file_)) << "who knows its name";
  ::chmod(folder_.c_str(), 0700);
  EXPECT_FALSE(OthersCanRead(file_));
  EXPECT_FALSE(OthersCanRead(folder_ + "/nothing.yaml"));
}

TEST_F(TrustedPathTest, AGroupThatIsNotRootsCanReadWhatItsModeLets) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ::chmod(dir_.path().c_str(), 0755);
  ::chmod(file_.c_str(), 0640);
  EXPECT_FALSE(OthersCanRead(file_)) << "root's group";
  ASSERT_EQ(0, ::chown(file_.c_str(), 0, 12345));
  EXPECT_TRUE(OthersCanRead(file_));
  ASSERT_EQ(0, ::chown(folder_.c_str(), 0, 12345));
  ::chmod(folder_.c_str(), 0701);
  EXPECT_FALSE(OthersCanRead(file_)) << "all but the group may enter";
}

}  // namespace
}  // namespace berth::os
