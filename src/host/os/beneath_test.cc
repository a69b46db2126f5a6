#include "host/os/beneath.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "testing/fixtures.h"

namespace berth::os {
namespace {

namespace fs = std::filesystem;

/// A directory `top` with `a/b/file`, beside a directory `secret`.
struct BeneathTest : testing::Test {
  BeneathTest() {
    fs::create_directories(top + "/a/b");
    fs::create_directories(temp / "secret");
    std::ofstream(top + "/a/b/file") << "inside";
    std::ofstream(temp / "secret/key") << "outside";
  }

  Code Refused(const std::string& path) const {
    const auto opened = OpenBeneath(top, path);
    return opened ? Code::kInternal : opened.error().code;
  }

  testkit::TempDir temp;
  const std::string top = temp / "top";
};

TEST_F(BeneathTest, OpensWhatIsBelow) {
  EXPECT_TRUE(OpenBeneath(top, "a/b/file"));
  EXPECT_TRUE(OpenBeneath(top, "a/b"));
  EXPECT_EQ(Refused("a/none"), Code::kNotFound);
}

TEST_F(BeneathTest, FollowsLinksThatStayBelow) {
  fs::create_symlink("a/b", top + "/short");
  const auto opened = OpenBeneath(top, "short/file");
  ASSERT_TRUE(opened) << opened.error().message;
  struct stat through{};
  struct stat direct{};
  ASSERT_EQ(0, ::fstat(opened->get(), &through));
  ASSERT_EQ(0, ::stat((top + "/a/b/file").c_str(), &direct));
  EXPECT_EQ(through.st_ino, direct.st_ino);
}

TEST_F(BeneathTest, RefusesEveryWayOut) {
  fs::create_symlink("..", top + "/up");
  fs::create_symlink("../../secret", top + "/a/sideways");
  fs::create_symlink(temp / "secret", top + "/absolute");
  fs::create_symlink("loop", top + "/loop");
  for (const char* const path : {"up/secret/key", "a/sideways/key", "absolute/key", "absolute", "loop", "../secret/key",
                                 "a/../../secret", "/etc"})
    EXPECT_EQ(Refused(path), Code::kPermission) << path;
}

TEST_F(BeneathTest, MakesDirectoriesOnlyBelow) {
  const auto made = MakeDirsBeneath(top, "x/y//z/", 0750);
  ASSERT_TRUE(made) << made.error().message;
  struct stat of{};
  ASSERT_EQ(0, ::stat((top + "/x/y/z").c_str(), &of));
  EXPECT_TRUE(S_ISDIR(of.st_mode));

  fs::create_symlink(temp / "secret", top + "/trap");
  for (const char* const path : {"trap/new", "../new", "a/../../new"}) {
    const auto refused = MakeDirsBeneath(top, path, 0750);
    EXPECT_FALSE(refused) << path;
  }
  EXPECT_FALSE(fs::exists(temp / "secret/new"));
  EXPECT_FALSE(fs::exists(temp / "new"));
}

TEST_F(BeneathTest, SaysThatAFileIsInTheWay) {
  const auto refused = MakeDirsBeneath(top, "a/b/file/more", 0750);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("a/b/file/more"), std::string::npos) << refused.error().message;
}

TEST_F(BeneathTest, UnbindingWhatIsNotThereSucceeds) { EXPECT_TRUE(Unbind(temp / "nothing")); }

}  // namespace
}  // namespace berth::os
