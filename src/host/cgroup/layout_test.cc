#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/cgroup/cgroup.h"
#include "testing/memory_fs.h"

namespace berth::cgroup {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> Where(const Layout& layout) {
  std::vector<std::string> out;
  for (const ControllerMount& c : layout.controllers)
    out.push_back(c.controller + (c.v2 ? " v2 " : " v1 ") + c.mount + (c.read_only ? " ro" : "") +
                  (c.root == "/" ? "" : " shows " + c.root));
  return out;
}

constexpr std::string_view kV2 = "28 22 0:25 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

TEST(LayoutTest, FindsAPureV2Host) {
  const auto layout = ParseLayout(kV2, "cpuset cpu io memory hugetlb pids rdma misc\n");
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(Version::kV2, layout->version);
  EXPECT_THAT(Where(*layout),
              ElementsAre("cpuset v2 /sys/fs/cgroup", "cpu v2 /sys/fs/cgroup", "memory v2 /sys/fs/cgroup",
                          "pids v2 /sys/fs/cgroup", "hugetlb v2 /sys/fs/cgroup"));
  EXPECT_THAT(layout->warnings, IsEmpty());
}

TEST(LayoutTest, FindsV1ControllersThatShareAMount) {
  const auto layout = ParseLayout(
      "31 23 0:28 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n"
      "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:1 master:2 - cgroup cgroup rw,cpu,cpuacct\n"
      "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset,clone_children\n"
      "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
      "36 31 0:33 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n",
      "");
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(Version::kV1, layout->version);
  EXPECT_THAT(Where(*layout), ElementsAre("cpuset v1 /sys/fs/cgroup/cpuset", "cpu v1 /sys/fs/cgroup/cpu,cpuacct",
                                          "memory v1 /sys/fs/cgroup/memory"));
  EXPECT_THAT(layout->warnings, ElementsAre(HasSubstr("'pids'"), HasSubstr("'hugetlb'")));
}

TEST(LayoutTest, TakesEachControllerFromItsPlaceOnAHybridHost) {
  const auto layout = ParseLayout(
      "32 31 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
      "33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
      "memory pids hugetlb");
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_EQ(Version::kHybrid, layout->version);
  EXPECT_THAT(Where(*layout), ElementsAre("cpuset v1 /sys/fs/cgroup/cpuset", "cpu v1 /sys/fs/cgroup/cpu",
                                          "memory v2 /sys/fs/cgroup/unified", "pids v2 /sys/fs/cgroup/unified"));
  EXPECT_THAT(layout->warnings, ElementsAre(HasSubstr("huge pages")));
}

TEST(LayoutTest, AnOldSystemdMountBesideV2MakesNoHybrid) {
  const auto layout =
      ParseLayout(std::string(kV2) + "36 31 0:33 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n",
                  "cpuset cpu memory pids");
  ASSERT_TRUE(layout);
  EXPECT_EQ(Version::kV2, layout->version);
}

TEST(LayoutTest, PrefersWritableAndWholeMounts) {
  const auto layout = ParseLayout(
      "40 31 0:30 /docker/abc /a rw - cgroup cgroup rw,cpuset\n"
      "41 31 0:30 / /b ro - cgroup cgroup rw,cpuset\n"
      "42 31 0:30 / /c\\040d rw - cgroup cgroup rw,cpuset\n"
      "43 31 0:31 /docker/abc /m ro - cgroup cgroup ro,memory\n",
      "");
  ASSERT_TRUE(layout);
  EXPECT_THAT(Where(*layout), ElementsAre("cpuset v1 /c d", "memory v1 /m ro shows /docker/abc"));
}

TEST(LayoutTest, TheLastMountAtAPlaceIsTheOneSeen) {
  const auto layout = ParseLayout(
      "40 31 0:30 / /x rw - cgroup cgroup rw,memory\n"
      "41 31 0:31 / /x rw - cgroup cgroup rw,cpuset\n",
      "");
  ASSERT_TRUE(layout);
  EXPECT_THAT(Where(*layout), ElementsAre("cpuset v1 /x"));
}

TEST(LayoutTest, SaysWhatToDoWithoutCpuset) {
  const auto none = ParseLayout("22 1 8:1 / / rw - ext4 /dev/sda1 rw\n", "");
  ASSERT_FALSE(none);
  EXPECT_EQ(Code::kUnsupported, none.error().code);
  EXPECT_THAT(none.error().message, HasSubstr("mount -t cgroup2"));
  const auto undelegated = ParseLayout(kV2, "memory pids");
  ASSERT_FALSE(undelegated);
  EXPECT_THAT(undelegated.error().message, HasSubstr("Delegate=cpuset"));
}

TEST(LayoutTest, RefusesTextThatIsNoMountinfo) {
  for (const char* text :
       {"junk", "1 2 3:4 / /x rw cgroup cgroup rw", "1 2 3:4 / /x rw -", "1 2 3:4 / - cgroup cgroup rw,cpuset"}) {
    const auto layout = ParseLayout(text, "");
    ASSERT_FALSE(layout) << text;
    EXPECT_EQ(Code::kInvalid, layout.error().code) << text;
  }
}

TEST(LayoutTest, ReadsWhatTheHostOffers) {
  testkit::MemoryFs fs({{"proc/self/mountinfo", kV2}, {"sys/fs/cgroup/cgroup.controllers", "cpuset cpu\n"}});
  const auto layout = DiscoverLayout(fs);
  ASSERT_TRUE(layout) << layout.error().message;
  EXPECT_THAT(Where(*layout), ElementsAre("cpuset v2 /sys/fs/cgroup", "cpu v2 /sys/fs/cgroup"));
  fs.Drop("sys/fs/cgroup/cgroup.controllers");
  EXPECT_EQ(Code::kNotFound, DiscoverLayout(fs).error().code);
}

}  // namespace
}  // namespace berth::cgroup
