#include "frontend/nri_preflight/host_inspection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/memory_fs.h"

namespace berth::nri_preflight {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testkit::MemoryFs;

TEST(PreflightHostTest, FindsKubeletBerthdAndWhoeverElsePlacesContainers) {
  using namespace std::literals;
  MemoryFs root;
  root.AddFile("proc/12/cmdline", "/usr/bin/kubelet\0--config=/etc/kubelet.yaml\0--root-dir\0/data/kubelet\0"s);
  root.AddFile("proc/13/cmdline", "/usr/sbin/berthd\0"s);
  root.AddFile("proc/14/cmdline", "/bin/nri-resource-policy-balloons\0-v\0"s);
  root.AddFile("proc/15/cmdline", "");  // a thread of the kernel
  root.AddFile("proc/self/cmdline", "/usr/bin/kubelet\0"s);
  const Programs found = FindPrograms(root);
  EXPECT_EQ(found.kubelet, 12);
  EXPECT_EQ(FlagOf(found.kubelet_flags, "config"), "/etc/kubelet.yaml");
  EXPECT_EQ(FlagOf(found.kubelet_flags, "root-dir"), "/data/kubelet");
  EXPECT_EQ(FlagOf(found.kubelet_flags, "root"), "");
  EXPECT_EQ(found.berthd, 13);
  EXPECT_THAT(found.rivals, ElementsAre(Program{14, "nri-resource-policy-balloons"}));
}

TEST(PreflightHostTest, ReadsPoliciesAndStateFilesOfAKubelet) {
  MemoryFs root;
  root.AddFile("k/config.yaml",
               "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncpuManagerPolicy: static\n"
               "reservedSystemCPUs: \"0\"\ncgroupDriver: systemd\n");
  root.AddFile("k/cpu_manager_state",
               R"({"policyName":"static","defaultCpuSet":"0-1","entries":{"u1":{"app":"2-3"}},"checksum":0})");
  root.AddFile("k/memory_manager_state", "no JSON");
  const LookedAtKubelet seen = LookAtKubelet(root, "/k/config.yaml", "/k");
  EXPECT_EQ(seen.facts.cpu_policy, "static");
  EXPECT_EQ(seen.facts.cgroup_driver, "systemd");
  EXPECT_EQ(seen.facts.cpu_state.policy, "static");
  EXPECT_EQ(seen.facts.cpu_state.pods, 1U);
  EXPECT_NE(seen.facts.memory_state.problem, "");
  ASSERT_TRUE(seen.config);
  EXPECT_EQ(seen.config->reserved_system_cpus, "0");
}

TEST(PreflightHostTest, ReadsSettingsOfAKubeletOfAnyVersion) {
  for (const char* gates : {"SidecarContainers: true", "HugepageAwareEviction: false"}) {
    MemoryFs root;
    root.AddFile("k/config.yaml",
                 "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfeatureGates: {" +
                     std::string(gates) + "}\n");
    const LookedAtKubelet seen = LookAtKubelet(root, "/k/config.yaml", "/k");
    EXPECT_EQ(seen.facts.problem, "") << gates;
    EXPECT_TRUE(seen.config) << gates;
  }
}

TEST(PreflightHostTest, WhatIsNotThereIsNoProblem) {
  MemoryFs root;
  const LookedAtKubelet seen = LookAtKubelet(root, "/k/config.yaml", "/k");
  EXPECT_EQ(seen.facts.config_file + seen.facts.problem + seen.facts.cpu_state.policy, "");
  EXPECT_FALSE(seen.config);
  const NriFacts nri = LookAtNri(root, "/var/run/nri/nri.sock", "/etc/containerd/config.toml");
  EXPECT_FALSE(nri.there);
  EXPECT_FALSE(nri.disabled);
}

TEST(PreflightHostTest, CountsWhomAListenerHasLetIn) {
  const std::string_view text =
      "Num       RefCount Protocol Flags    Type St Inode Path\n"
      "ffff0001: 00000002 00000000 00010000 0001 01 100 /var/run/nri/nri.sock\n"
      "ffff0002: 00000003 00000000 00000000 0001 03 101 /var/run/nri/nri.sock\n"
      "ffff0003: 00000003 00000000 00000000 0001 03 102\n"
      "ffff0004: 00000003 00000000 00000000 0001 03 103 /run/nri/nri.sock\n"
      "ffff0005: 00000003 00000000 00000000 0001 03 104 /run/other.sock\n";
  EXPECT_EQ(CountJoined(text, "/run/nri/nri.sock"), 2U);
  EXPECT_EQ(CountJoined("", "/run/nri/nri.sock"), 0U);
}

TEST(PreflightHostTest, ReadsWhetherARuntimeHasNriSwitchedOff) {
  EXPECT_EQ(SaysNriDisabled("[plugins.\"io.containerd.nri.v1.nri\"]\n  disable = true # for now\n"), true);
  EXPECT_EQ(SaysNriDisabled("[plugins.'io.containerd.nri.v1.nri']\ndisable=false\n[other]\ndisable = true\n"), false);
  EXPECT_EQ(SaysNriDisabled("[crio.nri]\nenable_nri = false\n"), true);
  EXPECT_EQ(SaysNriDisabled("[other]\ndisable = true\n"), std::nullopt);
  EXPECT_EQ(SaysNriDisabled("plugins.\"io.containerd.nri.v1.nri\" = { socket_path = '# [crio.nri]', disable = true }"),
            true);
  EXPECT_EQ(SaysNriDisabled("note = \"\"\"\n[crio.nri]\nenable_nri = false\n\"\"\""), std::nullopt);
  EXPECT_EQ(SaysNriDisabled("[plugins.'io.containerd.nri.v1.nri']\ndisable = 'true'\n"), std::nullopt);
  EXPECT_EQ(SaysNriDisabled("[crio.nri]\nenable_nri = false\n[crio"), std::nullopt);
  EXPECT_EQ(SaysNriDisabled(""), std::nullopt);
}

TEST(PreflightHostTest, KnowsNriByTheVersionOfContainerd) {
  EXPECT_EQ(NriVersionOf("containerd", "1.6.20"), "");
  EXPECT_EQ(NriVersionOf("containerd", "1.7.24~ds1"), "0.3 to 0.8");
  EXPECT_EQ(NriVersionOf("containerd", "v2.1.9+unknown"), "0.8");
  EXPECT_EQ(NriVersionOf("containerd", "2.2.1"), "0.10 or later");
  EXPECT_EQ(NriVersionOf("cri-o", "1.34.0"), "");
}

TEST(PreflightHostTest, FindsTheGroupOfAProcess) {
  EXPECT_EQ(CpusetGroupIn("4:memory:/a\n3:cpuset:/kubepods/pod1/c\n0::/x\n"), "/kubepods/pod1/c");
  EXPECT_EQ(CpusetGroupIn("0::/kubepods.slice/x.scope\n"), "/kubepods.slice/x.scope");
  EXPECT_EQ(CpusetGroupIn("junk\n"), std::nullopt);
}

}  // namespace
}  // namespace berth::nri_preflight
