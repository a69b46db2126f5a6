// What settings ask of a host, looked up in files made for it.
#include "daemon/host_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/fake_cgroups.h"
#include "testing/memory_fs.h"

namespace berth::daemon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Asked {
  explicit Asked(bool v2 = true) : kernel(fs, {.v2 = v2}) {
    layout = *cgroup::DiscoverLayout(fs);
    fs.AddFile("proc/swaps", "Filename Type Size Used Priority\n");
    settings.cgroup_root = "/";
  }
  HostFindings Check(cgroup::Driver driver = cgroup::Driver::kCgroupfs) {
    return CheckHost(fs, settings, layout, driver);
  }

  testkit::MemoryFs fs;
  testkit::FakeCgroups kernel;
  cgroup::Layout layout;
  Settings settings;
};

TEST(HostCheckTest, UsualSettingsFindNothingOnEitherVersion) {
  for (const bool v2 : {true, false}) {
    Asked host(v2);
    EXPECT_THAT(host.Check().problems, IsEmpty());
    EXPECT_THAT(host.Check().warnings, IsEmpty());
  }
}

TEST(HostCheckTest, SwapIsRefusedWhenTheFileSaysSoAndToldWhenItSaysNothing) {
  Asked host;
  host.fs.AddFile("proc/swaps", "Filename Type Size Used Priority\n/dev/sda2 partition 1048572 0 -2\n");
  EXPECT_THAT(host.Check().problems, IsEmpty());
  EXPECT_THAT(host.Check().warnings, ElementsAre(HasSubstr("swap is on (/dev/sda2)")));
  host.settings.kubelet.fail_swap_on = true;
  EXPECT_THAT(host.Check().problems, ElementsAre(HasSubstr("failSwapOn: swap is on (/dev/sda2); turn it off")));
  EXPECT_THAT(host.Check().warnings, IsEmpty());
  host.settings.kubelet.fail_swap_on = false;
  EXPECT_THAT(host.Check().problems, IsEmpty());
  EXPECT_THAT(host.Check().warnings, IsEmpty());
}

TEST(HostCheckTest, VersionOneIsRefusedOnlyWhenTheFileSaysSo) {
  Asked old(false);
  old.settings.kubelet.fail_cgroup_v1 = true;
  EXPECT_THAT(old.Check().problems, ElementsAre(HasSubstr("failCgroupV1: cgroups of this host are not v2")));
  old.settings.kubelet.fail_cgroup_v1 = false;
  EXPECT_THAT(old.Check().problems, IsEmpty());
  Asked now;
  now.settings.kubelet.fail_cgroup_v1 = true;
  EXPECT_THAT(now.Check().problems, IsEmpty());
}

TEST(HostCheckTest, EachKernelSettingThatDiffersIsNamedWithItsCure) {
  Asked host;
  host.settings.kubelet.protect_kernel_defaults = true;
  host.fs.AddFile("proc/sys/vm/overcommit_memory", "0\n");
  host.fs.AddFile("proc/sys/vm/panic_on_oom", "0\n");
  host.fs.AddFile("proc/sys/kernel/panic", "10\n");
  host.fs.AddFile("proc/sys/kernel/panic_on_oops", "1\n");
  host.fs.AddFile("proc/sys/kernel/keys/root_maxkeys", "1000000\n");
  EXPECT_THAT(host.Check().problems, ElementsAre(HasSubstr("sysctl -w vm.overcommit_memory=1"),
                                                 HasSubstr("/proc/sys/kernel/keys/root_maxbytes")));
  host.settings.kubelet.protect_kernel_defaults = false;
  EXPECT_THAT(host.Check().problems, IsEmpty());
}

TEST(HostCheckTest, AMissingReservedGroupIsFoundBeforeAnythingIsTouched) {
  Asked host;
  KubeletConfiguration& config = host.settings.kubelet;
  config.enforce_node_allocatable = {"pods", "kube-reserved"};
  config.kube_reserved_cgroup = "/runtime";
  config.kube_reserved["cpu"] = Quantity::FromUnits(1);
  EXPECT_THAT(host.Check().problems, ElementsAre(HasSubstr("\"/runtime\": cgroup /runtime has some missing paths")));
  ASSERT_TRUE(host.fs.MakeDir("/sys/fs/cgroup/runtime"));
  EXPECT_THAT(host.Check().problems, IsEmpty());
}

TEST(HostCheckTest, AShareOfSomethingElseThanMemoryIsRefused) {
  Asked host;
  host.settings.kubelet.feature_gates["QOSReserved"] = true;
  host.settings.kubelet.qos_reserved["cpu"] = "50%";
  EXPECT_THAT(host.Check().problems, ElementsAre(HasSubstr("qosReserved: 'cpu' cannot be reserved")));
}

TEST(HostCheckTest, AGroupOfAnotherServiceIsToldUnderSystemd) {
  Asked host;
  host.settings.kubelet.kubelet_cgroups = "/system.slice/kubelet.service";
  EXPECT_THAT(host.Check(cgroup::Driver::kSystemd).warnings, ElementsAre(HasSubstr("kubeletCgroups: has no effect")));
  EXPECT_THAT(host.Check(cgroup::Driver::kCgroupfs).warnings, IsEmpty());
}

TEST(HostCheckTest, ASocketOfARuntimeHasToBeThereWhereOneIsUsed) {
  Asked host;
  host.settings.kubelet.container_runtime_endpoint = "unix:///run/none.sock";
  EXPECT_TRUE(CheckRuntimeSocket(host.fs, host.settings));
  host.settings.berth.runtime = "cri";
  const auto missing = CheckRuntimeSocket(host.fs, host.settings);
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("containerRuntimeEndpoint: /run/none.sock does not exist"));
  host.fs.AddFile("run/none.sock", "");
  EXPECT_TRUE(CheckRuntimeSocket(host.fs, host.settings));
}

}  // namespace
}  // namespace berth::daemon
