#include "host/cgroup/escaped_processes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "testing/memory_fs.h"

namespace berth::cgroup {
namespace {

/// One in /proc: with fields 4, 6 and 9 of its status.
void AddAt(testkit::MemoryFs& fs, const std::string& dir, int parent, int session, const std::string& groups,
           int flags) {
  ASSERT_TRUE(fs.MakeDir(dir));
  ASSERT_TRUE(fs.Replace(dir + "/stat", dir.substr(dir.rfind('/') + 1) + " (a) b) S " + std::to_string(parent) + " 1 " +
                                            std::to_string(session) + " 0 -1 " + std::to_string(flags) + " 0 0\n"));
  ASSERT_TRUE(fs.Replace(dir + "/cgroup", groups));
}

void Add(testkit::MemoryFs& fs, int pid, int parent, int session, const std::string& groups, int flags = 0) {
  AddAt(fs, "proc/" + std::to_string(pid), parent, session, groups, flags);
}

void AddThread(testkit::MemoryFs& fs, int pid, int thread, const std::string& groups, int flags = 0) {
  const std::string tasks = "proc/" + std::to_string(pid) + "/task";
  ASSERT_TRUE(fs.MakeDir(tasks));
  AddAt(fs, tasks + "/" + std::to_string(thread), 1, pid, groups, flags);
}

/// `root`: what the mount points show.
Layout Version1(const std::string& root = "/") {
  return {.version = Version::kV1,
          .controllers = {{.controller = "cpuset", .mount = "/sys/fs/cgroup/cpuset", .root = root},
                          {.controller = "pids", .mount = "/sys/fs/cgroup/pids", .root = root}},
          .warnings = {}};
}

Layout Version2() {
  return {.version = Version::kV2,
          .controllers = {{.controller = "cpuset", .mount = "/sys/fs/cgroup", .v2 = true}},
          .warnings = {}};
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
  EXPECT_EQ(PidsOf(FindStrays(fs, Version1(), {{.path = "/b/pod1/app", .main_pid = 10}}, Threads::kNo)),
            (std::vector<int>{11, 12, 13, 14}));
  EXPECT_EQ(PidsOf(FindStrays(fs, Version1(), {{.path = "/b/pod1/app", .main_pid = 0}}, Threads::kNo)),
            (std::vector<int>{14}));
}

TEST(StraysTest, TheMainProcessIsOneTooAndVersion2HasOneHierarchy) {
  testkit::MemoryFs fs;
  ASSERT_TRUE(fs.MakeDir("proc"));
  Add(fs, 10, 1, 10, "0::/elsewhere\n");
  Add(fs, 20, 1, 20, "0::/b/pod2/app\n");
  const auto strays = FindStrays(
      fs, Version2(), {{.path = "/b/pod1/app", .main_pid = 10}, {.path = "/b/pod2/app", .main_pid = 20}}, Threads::kNo);
  ASSERT_EQ(PidsOf(strays), (std::vector<int>{10}));
  EXPECT_EQ(strays->front().home, 0U);
  EXPECT_EQ(strays->front().cpuset, "/elsewhere");
  EXPECT_EQ(strays->front().name, "a) b");
}

TEST(StraysTest, AreToldByWhatTheMountPointShows) {
  testkit::MemoryFs fs;
  ASSERT_TRUE(fs.MakeDir("proc"));
  Add(fs, 10, 1, 10, "4:cpuset:/outer/b/pod1/app\n3:pids:/outer/b/pod1/app\n");
  Add(fs, 11, 10, 11, "4:cpuset:/b/pod1/app\n3:pids:/\n");          // called the same, elsewhere
  Add(fs, 12, 10, 12, "4:cpuset:/outerer/b/pod1/app\n3:pids:/\n");  // likewise
  Add(fs, 13, 1, 13, "4:cpuset:/outer\n3:pids:/outer/b/pod1/app/inner\n");
  Add(fs, 14, 1, 14, "4:cpuset:/\n3:pids:/b/pod1/app\n");
  const std::vector<Home> homes = {{.path = "/b/pod1/app", .main_pid = 10}};
  const auto strays = FindStrays(fs, Version1("/outer"), homes, Threads::kNo);
  EXPECT_EQ(PidsOf(strays), (std::vector<int>{11, 12, 13}));
  EXPECT_EQ(strays->back().cpuset, "/outer") << "as the kernel calls it";
  const auto unknown = FindStrays(fs, Version1("/.."), homes, Threads::kNo);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kUnsupported);
}

TEST(StraysTest, AThreadThatLeftAloneIsOneWhereThreadsAreLookedAt) {
  testkit::MemoryFs fs;
  ASSERT_TRUE(fs.MakeDir("proc"));
  for (const int pid : {10, 20}) {
    Add(fs, pid, 1, pid, pid == 10 ? kHome : "4:cpuset:/b/pod2/app\n3:pids:/b/pod2/app\n");
    AddThread(fs, pid, pid, kAway);  // as the process
    AddThread(fs, pid, pid + 1, kAway);
    AddThread(fs, pid, pid + 2, "4:cpuset:/b/pod1/app/inner\n3:pids:/b/pod1/app\n");
    AddThread(fs, pid, pid + 3, kAway, 0x4);  // it ends
  }
  const std::vector<Home> homes = {{.path = "/b/pod1/app", .main_pid = 10}, {.path = "/b/pod2/app", .main_pid = 20}};
  EXPECT_EQ(PidsOf(FindStrays(fs, Version1(), homes, Threads::kNo)), std::vector<int>());
  const auto strays = FindStrays(fs, Version1(), homes, Threads::kYes);
  ASSERT_EQ(PidsOf(strays), (std::vector<int>{10, 20, 20}));  // two threads are not where the second one belongs
  EXPECT_EQ(StrayText(strays->front(), "x"), "thread 11 of process 10 (a) b) of x is in the cpuset /");
}

}  // namespace
}  // namespace berth::cgroup
