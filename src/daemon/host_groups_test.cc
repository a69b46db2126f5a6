// Groups of the host that settings name, on a kernel played in memory.
#include "daemon/host_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/cgroup/cgroup.h"
#include "testing/fake_cgroups.h"
#include "testing/memory_fs.h"

namespace berth::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Settings With(std::string system, std::string kubelet, std::string runtime, std::string root = "/") {
  Settings out;
  out.cgroup_root = std::move(root);
  out.kubelet.system_cgroups = std::move(system);
  out.kubelet.kubelet_cgroups = std::move(kubelet);
  out.berth.runtime_cgroups = std::move(runtime);
  return out;
}

std::string WhyNot(const Settings& settings) {
  const auto names = NamesOf(settings, cgroup::Driver::kCgroupfs);
  return names ? "" : names.error().message;
}

TEST(HostGroupsTest, UsualNamesWithoutSettings) {
  const Settings settings = With("", "", "");
  const auto names = NamesOf(settings, cgroup::Driver::kCgroupfs);
  ASSERT_TRUE(names);
  EXPECT_THAT(HostGroupsOf(settings, *names),
              ElementsAre(std::pair("kubeletCgroups", "/berth"), std::pair("runtimeCgroups", "/berth")));
}

TEST(HostGroupsTest, NamedGroupsAreSeenFromTheTop) {
  const Settings settings = With("system", "/a/kubelet", "/a/runtime", "/a");
  const auto names = NamesOf(settings, cgroup::Driver::kCgroupfs);
  ASSERT_TRUE(names) << names.error().message;
  EXPECT_THAT(HostGroupsOf(settings, *names),
              ElementsAre(std::pair("kubeletCgroups", "/a/kubelet"), std::pair("runtimeCgroups", "/a/runtime"),
                          std::pair("systemCgroups", "/system")));
}

TEST(HostGroupsTest, ContradictionsNameTheSettingAndTheCure) {
  EXPECT_THAT(WhyNot(With("/", "", "")), HasSubstr("systemCgroups: '/' is the root cgroup"));
  EXPECT_THAT(WhyNot(With("/berth", "", "")), HasSubstr("systemCgroups: '/berth' is the group of berthd"));
  EXPECT_THAT(WhyNot(With("/k/x", "/k", "")), HasSubstr("name another one"));
  EXPECT_THAT(WhyNot(With("/kubepods", "", "")), HasSubstr("name a group beside /kubepods"));
  EXPECT_THAT(WhyNot(With("", "/other", "", "/a")), HasSubstr("kubeletCgroups: '/other' is no group below"));
  EXPECT_THAT(WhyNot(With("", "", "/a/kubepods/x", "/a")), HasSubstr("runtimeCgroups"));
  EXPECT_THAT(WhyNot(With("", "/k", "/k/shims")), HasSubstr("lie in each other"));
  EXPECT_EQ("", WhyNot(With("/system", "/k", "/k")));
}

TEST(HostGroupsTest, TheServiceOfAKubeletIsNoGroupForBerthdWhereSystemdMakesGroups) {
  const Settings settings = With("", "/system.slice/kubelet.service", "");
  const auto names = NamesOf(settings, cgroup::Driver::kSystemd);
  ASSERT_TRUE(names) << names.error().message;
  EXPECT_EQ("berth.scope", names->Own());
  EXPECT_TRUE(NamesAUnit(settings, cgroup::Driver::kSystemd));
  EXPECT_EQ("system.slice/kubelet.service", NamesOf(settings, cgroup::Driver::kCgroupfs)->Own());
}

struct Node {
  explicit Node(bool v2, bool with_cpus = true) : kernel(fs, {.v2 = v2}) {
    layout = *cgroup::DiscoverLayout(fs);
    for (const cgroup::ControllerMount& mount : layout.controllers) EXPECT_TRUE(fs.MakeDir(mount.mount + "/system"));
    if (v2 || !with_cpus) return;
    EXPECT_TRUE(kernel.ForeignWrite("cpuset", "system", "cpuset.mems", "0"));
    EXPECT_TRUE(kernel.ForeignWrite("cpuset", "system", "cpuset.cpus", "0-3"));
  }
  void Process(int pid, const std::string& name, std::uint64_t flags) {
    fs.AddFile("proc/" + std::to_string(pid) + "/stat",
               std::to_string(pid) + " (" + name + ") S 1 1 1 0 -1 " + std::to_string(flags) + " 0 0\n");
    EXPECT_TRUE(kernel.AddProcess("", pid));
  }
  std::string Root(std::string_view controller) { return kernel.Value(controller, "", "cgroup.procs"); }
  std::string System(std::string_view controller) { return kernel.Value(controller, "system", "cgroup.procs"); }

  testkit::MemoryFs fs;
  testkit::FakeCgroups kernel;
  cgroup::Layout layout;
};

class SystemProcessesTest : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Versions, SystemProcessesTest, ::testing::Bool());

TEST_P(SystemProcessesTest, AllButPidOneAndKernelThreadsLeaveTheRoot) {
  constexpr std::uint64_t kKernelThread = 0x00200000;
  Node node(GetParam());
  node.Process(1, "init", 0x400100);
  node.Process(2, "kthreadd", kKernelThread | 0x40);
  node.Process(40, "sh (odd) name", 0x400000);
  node.Process(41, "sshd", 0);
  SystemProcesses system(node.fs, node.layout, "/system");
  const auto moved = system.Move(11);
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_TRUE(moved->refused.empty());
  for (const cgroup::ControllerMount& mount : node.layout.controllers) {
    EXPECT_EQ("1\n2", node.Root(mount.controller)) << mount.controller;
    EXPECT_EQ("40\n41", node.System(mount.controller)) << mount.controller;
  }
  const auto again = system.Move(1);
  ASSERT_TRUE(again);
  EXPECT_EQ(0, again->count);
}

TEST(SystemProcessesTest, OneThatTheKernelKeepsIsNamed) {
  Node node(false, /*with_cpus=*/false);  // v1 lets no process into a cpuset without CPUs
  node.Process(7, "sh", 0);
  SystemProcesses system(node.fs, node.layout, "system");
  const auto moved = system.Move(11);
  ASSERT_TRUE(moved);
  EXPECT_NE("7", node.Root("memory"));
  EXPECT_EQ("7", node.Root("cpuset"));
  EXPECT_THAT(moved->refused, ElementsAre(HasSubstr("7: ")));
}

TEST(SystemProcessesTest, AGroupWhoseChildrenHaveControllersWillDoWhereNothingHasToMove) {
  Node node(true);
  EXPECT_TRUE(node.kernel.ForeignWrite("cpuset", "", "cgroup.subtree_control", "+cpuset"));
  EXPECT_TRUE(node.kernel.ForeignWrite("cpuset", "system", "cgroup.subtree_control", "+cpuset"));
  SystemProcesses system(node.fs, node.layout, "/system");
  const auto nobody = system.Move(11);
  ASSERT_TRUE(nobody) << nobody.error().message;
  EXPECT_THAT(nobody->refused, IsEmpty());
  node.Process(7, "sh", 0);
  const auto moved = system.Move(11);
  ASSERT_TRUE(moved) << moved.error().message;
  EXPECT_THAT(moved->refused, ElementsAre(HasSubstr("whose children have controllers takes no process")));
}

TEST(SystemProcessesTest, ItsGroupsExistOnlyIfTheyDoEverywhere) {
  Node node(false);
  EXPECT_TRUE(*SystemProcesses(node.fs, node.layout, "/system").GroupsExist());
  EXPECT_TRUE(node.fs.MakeDir(node.layout.controllers.front().mount + "/half"));
  EXPECT_FALSE(*SystemProcesses(node.fs, node.layout, "/half").GroupsExist());
}

}  // namespace
}  // namespace berth::daemon
