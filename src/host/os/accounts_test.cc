#include "host/os/accounts.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "testing/fixtures.h"

namespace berth::os {
namespace {

TEST(AccountsTest, AUserHasItsOwnGroupAndThoseItIsAMemberOf) {
  const testkit::TempDir dir;
  std::ofstream(dir / "passwd") << "root:x:0:0::/root:/bin/sh\nbroken\nworse:x:seven:1\nann:x:1000:100:A:/:/bin/sh\n"
                                   "twin:x:1000:200::/:\nbob:x:1001:-4::/:\n";
  std::ofstream(dir / "group") << "users:x:100:ann\nstaff:x:50:bob,ann\nanna:x:51:anna\nlost:x:52\nodd:x:x:ann\n"
                                  "last:x:4294967294:ann";
  EXPECT_EQ(*FindAccount(1000, dir.path()), (Account{.group = 100, .groups = {50, 4'294'967'294}}));
  EXPECT_EQ(*FindAccount(0, dir.path()), (Account{.group = 0, .groups = {}}));
  EXPECT_EQ(*FindAccount(1001, dir.path()), std::nullopt) << "its group is no number";
  EXPECT_EQ(*FindAccount(7, dir.path()), std::nullopt);
}

TEST(AccountsTest, WithoutFilesNobodyIsKnown) {
  const testkit::TempDir dir;
  EXPECT_EQ(*FindAccount(0, dir.path()), std::nullopt);
  std::filesystem::create_directory(dir / "passwd");
  EXPECT_FALSE(FindAccount(0, dir.path()));
}

}  // namespace
}  // namespace berth::os
