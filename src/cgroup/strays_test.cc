#include "cgroup/strays.h"

#include <gtest/gtest.h>

#include "testing/memory_fs.h"

namespace berth::cgroup {
namespace {

/// A process in /proc: with fields 4, 6 and 9 of its status.
void Add(testkit::MemoryFs& fs, int pid, int parent, int session, const std::string& groups, int flags = 0) {
  const std::string dir = "proc/" + std::to_string(pid);
  ASSERT_TRUE(fs.MakeDir(dir));
  ASSERT_TRUE(fs.Replace(dir + "/stat", std::to_string(pid) + " (a) b) S " + std::to_string(parent) + " 1 " +
                                            std::to_string(session) + " 0 -1 " + std::to_string(flags) + " 0 0\n"));
  ASSERT_TRUE(fs.Replace(dir + "/cgroup", groups));
}

std::vector<int> PidsOf(const Result<std::vector<Stray>>& strays) {
  std::vector<int> out;
  for (const Stray& stray : *strays) out.push_back(stray.pid);
  return out;
}

constexpr const char* kHome = "4:cpuset:/b/pod1/app\n3:pids:/b/pod1/app\n";
constexpr const char* kAway = "4:cpuset:/\n3:pids:/\n";

TEST(StraysTest, AreKnownByDescentSessionAndOtherHierarchies) {
  testkit::MemoryFs fs;
  ASSERT_TRUE(fs.MakeDir("proc"));
  ASSERT_TRUE(fs.MakeDir("proc/self"));
  Add(fs, 1, 0, 1, kAway);
  Add(fs, 2, 0, 0, kAway, 0x00200000);  // the kernel's
  Add(fs, 10, 1, 10, kHome);
  Add(fs, 11, 10, 11, kAway);                                    // below
  Add(fs, 12, 11, 12, kAway);                                    // further below
  Add(fs, 13, 1, 10, kAway);                                     // orphan in its session
  Add(fs, 14, 1, 14, "4:cpuset:/\n3:pids:/b/pod1/app/inner\n");  // left one hierarchy only
  Add(fs, 15, 10, 10, "4:cpuset:/b/pod1/app/inner\n3:pids:/\n");
  Add(fs, 16, 1, 16, "4:cpuset:/\n3:pids:/b/pod1/app2\n");
  Add(fs, 17, 1, 17, kAway);
  Add(fs, 18, 10, 10, kAway, 0x4);  // it ends, or is not reaped
  EXPECT_EQ(PidsOf(FindStrays(fs, {{.path = "/b/pod1/app", .main_pid = 10}})), (std::vector<int>{11, 12, 13, 14}));
  EXPECT_EQ(PidsOf(FindStrays(fs, {{.path = "/b/pod1/app", .main_pid = 0}})), (std::vector<int>{14}));
}

TEST(StraysTest, TheMainProcessIsOneTooAndVersion2HasOneHierarchy) {
  testkit::MemoryFs fs;
  ASSERT_TRUE(fs.MakeDir("proc"));
  Add(fs, 10, 1, 10, "0::/elsewhere\n");
  Add(fs, 20, 1, 20, "0::/b/pod2/app\n");
  const auto strays =
      FindStrays(fs, {{.path = "/b/pod1/app", .main_pid = 10}, {.path = "/b/pod2/app", .main_pid = 20}});
  ASSERT_EQ(PidsOf(strays), (std::vector<int>{10}));
  EXPECT_EQ(strays->front().home, 0U);
  EXPECT_EQ(strays->front().cpuset, "/elsewhere");
  EXPECT_EQ(strays->front().name, "a) b");
}

}  // namespace
}  // namespace berth::cgroup
