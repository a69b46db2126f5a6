// What a runtime is told of fields whose effect needs a kernel or a client that tests do not have everywhere.
#include "runtime/cri/cri_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cri {
namespace {

pb::LinuxContainerSecurityContext SecurityOf(const ContainerSpec& spec) {
  pb::ContainerConfig out;
  Put(spec, out);
  return out.linux().security_context();
}

TEST(CriMessagesTest, AnAppArmorProfileIsToldToOldAndNewRuntimes) {
  ContainerSpec spec;
  EXPECT_FALSE(SecurityOf(spec).has_apparmor()) << "the runtime's own choice";
  EXPECT_EQ("", SecurityOf(spec).apparmor_profile());
  spec.security.app_armor = "RuntimeDefault";
  EXPECT_EQ(pb::SecurityProfile::RuntimeDefault, SecurityOf(spec).apparmor().profile_type());
  EXPECT_EQ("runtime/default", SecurityOf(spec).apparmor_profile());
  spec.security.app_armor = "Unconfined";
  EXPECT_EQ(pb::SecurityProfile::Unconfined, SecurityOf(spec).apparmor().profile_type());
  EXPECT_EQ("unconfined", SecurityOf(spec).apparmor_profile());
  spec.security.app_armor = "Localhost";
  spec.security.app_armor_localhost = "mine";
  EXPECT_EQ(pb::SecurityProfile::Localhost, SecurityOf(spec).apparmor().profile_type());
  EXPECT_EQ("mine", SecurityOf(spec).apparmor().localhost_ref());
  EXPECT_EQ("localhost/mine", SecurityOf(spec).apparmor_profile());
}

TEST(CriMessagesTest, CapabilitiesAreToldWithoutPrefixHoweverTheyAreWritten) {
  ContainerSpec spec;
  spec.security.add_capabilities = {"CAP_NET_ADMIN", "sys_time", "ALL"};
  spec.security.drop_capabilities = {"NET_RAW", "cap_chown"};
  const pb::Capability told = SecurityOf(spec).capabilities();
  EXPECT_THAT(told.add_capabilities(), testing::ElementsAre("NET_ADMIN", "SYS_TIME", "ALL"));
  EXPECT_THAT(told.drop_capabilities(), testing::ElementsAre("NET_RAW", "CHOWN"));
}

TEST(CriMessagesTest, ASeLinuxLabelIsThePodsAndTheContainers) {
  const SeLinuxOptions label{.user = "u", .role = "r", .type = "t", .level = "s0:c1,c2"};
  const auto same = [&](const pb::SELinuxOption& told) {
    return told.user() == "u" && told.role() == "r" && told.type() == "t" && told.level() == "s0:c1,c2";
  };
  ContainerSpec container;
  EXPECT_FALSE(SecurityOf(container).has_selinux_options());
  container.security.se_linux = label;
  EXPECT_TRUE(same(SecurityOf(container).selinux_options()));
  SandboxSpec sandbox;
  sandbox.security.se_linux = label;
  pb::PodSandboxConfig out;
  Put(sandbox, out);
  EXPECT_TRUE(same(out.linux().security_context().selinux_options()));
}

TEST(CriMessagesTest, FilesThatWereMadeForThePodAreRelabelled) {
  ContainerSpec spec;
  spec.mounts = {{.container_path = "/a", .host_path = "/x", .relabel = true},
                 {.container_path = "/b", .host_path = "/y"}};
  pb::ContainerConfig out;
  Put(spec, out);
  EXPECT_TRUE(out.mounts(0).selinux_relabel());
  EXPECT_FALSE(out.mounts(1).selinux_relabel());
}

TEST(CriMessagesTest, ASandboxIsToldOfTheOverheadAndOfWhatItsContainersHave) {
  SandboxSpec spec;
  spec.overhead = {.cpu_period_us = 100'000, .cpu_quota_us = 50'000, .cpu_shares = 512, .memory_limit = 1 << 20};
  spec.resources = {.cpu_shares = 2};
  pb::PodSandboxConfig out;
  Put(spec, out);
  EXPECT_EQ(50'000, out.linux().overhead().cpu_quota());
  EXPECT_EQ(512, out.linux().overhead().cpu_shares());
  EXPECT_EQ(1 << 20, out.linux().overhead().memory_limit_in_bytes());
  EXPECT_EQ(2, out.linux().resources().cpu_shares());
  EXPECT_EQ(0, out.linux().resources().memory_limit_in_bytes());
}

TEST(CriMessagesTest, DevicesAreToldByPathAndByName) {
  ContainerSpec spec;
  spec.devices = {{.container_path = "/dev/in", .host_path = "/dev/out", .permissions = "rw"}};
  spec.cdi_devices = {"vendor.example/gpu=0", "vendor.example/gpu=1"};
  pb::ContainerConfig out;
  Put(spec, out);
  ASSERT_EQ(1, out.devices_size());
  EXPECT_EQ("/dev/in", out.devices(0).container_path());
  EXPECT_EQ("/dev/out", out.devices(0).host_path());
  EXPECT_EQ("rw", out.devices(0).permissions());
  ASSERT_EQ(2, out.cdi_devices_size());
  EXPECT_EQ("vendor.example/gpu=1", out.cdi_devices(1).name());
}

TEST(CriMessagesTest, WhetherCdiDevicesAreGivenIsWhatTheRuntimeShowsOfItsConfiguration) {
  const auto said = [](const std::string& config) {
    pb::StatusResponse answer;
    (*answer.mutable_info())["config"] = config;
    return EnablesCdi(answer);
  };
  EXPECT_EQ(std::optional(false), said(R"({"containerd":{"enableCDI":true},"enableCDI":false,"x":[1]})"));
  EXPECT_EQ(std::optional(true), said(R"({"enableCDI":true})"));
  for (const char* const other : {"", "{", "[]", "null", R"({"cdiSpecDirs":["/etc/cdi"]})", R"({"enableCDI":"no"})"})
    EXPECT_EQ(std::nullopt, said(other)) << other;
  EXPECT_EQ(std::nullopt, EnablesCdi(pb::StatusResponse()));
}

TEST(CriMessagesTest, APlugInHasTheCapabilitiesThatAreTrue) {
  const auto said = [](const std::string& shown) {
    pb::StatusResponse answer;
    (*answer.mutable_info())["cniconfig"] = shown;
    return CniHas(answer, "io.kubernetes.cri.pod-annotations");
  };
  const auto networks = [](const std::string& capabilities) {
    return R"({"PluginDirs": ["/opt/cni/bin"], "Networks": [{"IFName": "lo", "Config": {"Plugins": [{"Network": )"
           R"({"type": "loopback"}}]}}, {"IFName": "eth0", "Config": {"Plugins": [{"Network": {"type": "bridge", )"
           R"("capabilities": {"portMappings": true}}}, {"Network": {"type": "x", "capabilities": )" +
           capabilities + R"(}, "Source": "{\"capabilities\": {\"io.kubernetes.cri.pod-annotations\": false}}"}]}}]})";
  };
  EXPECT_TRUE(said(networks(R"({"io.kubernetes.cri.pod-annotations": true})")));
  for (const char* const other :
       {R"({"io.kubernetes.cri.pod-annotations": false})", R"({"io.kubernetes.cri.pod-annotations": "true"})",
        R"({"bandwidth": true})", "{}", "null", "[]"})
    EXPECT_FALSE(said(networks(other))) << other;
  for (const char* const other : {"", "{", "null", "[]", "7", R"({"Networks": 7})", R"({"Networks": [7]})",
                                  R"({"Networks": [{"Config": {"Plugins": null}}]})"})
    EXPECT_FALSE(said(other)) << other;
  EXPECT_FALSE(CniHas(pb::StatusResponse(), "bandwidth"));
}

TEST(CriMessagesTest, AnInputThatEndsWithItsFirstReaderIsToldAsThat) {
  ContainerSpec spec;
  spec.stdin_open = true;
  spec.stdin_once = true;
  pb::ContainerConfig out;
  Put(spec, out);
  EXPECT_TRUE(out.stdin() && out.stdin_once() && !out.tty());
}

TEST(CriMessagesTest, PortsHaveTheirProtocolAndAddress) {
  SandboxSpec spec;
  spec.ports = {{.name = "", .port = 53, .host_port = 5353, .host_ip = "127.0.0.2", .protocol = "UDP"},
                {.name = "", .port = 80, .host_port = 8080}};
  pb::PodSandboxConfig out;
  Put(spec, out);
  ASSERT_EQ(2, out.port_mappings_size());
  EXPECT_EQ(pb::UDP, out.port_mappings(0).protocol());
  EXPECT_EQ(53, out.port_mappings(0).container_port());
  EXPECT_EQ(5353, out.port_mappings(0).host_port());
  EXPECT_EQ("127.0.0.2", out.port_mappings(0).host_ip());
  EXPECT_EQ(pb::TCP, out.port_mappings(1).protocol());
}

}  // namespace
}  // namespace berth::cri
