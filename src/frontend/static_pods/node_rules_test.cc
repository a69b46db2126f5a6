// What a node refuses to pods whatever is free.
#include "frontend/static_pods/node_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::pods {
namespace {

using testing::HasSubstr;

std::string ReasonOf(const Pod& pod, const NodeRules& rules) {
  const auto refused = WhyRefused(pod, rules);
  return refused.empty() ? "" : refused.front().why.reason;
}

Pod WithSysctl(const std::string& name) {
  Pod pod;
  pod.security.sysctls = {{name, "1"}};
  return pod;
}

TEST(NodeRulesTest, ContainersHaveRestartPoliciesOfTheirOwnUnlessTheGateIsOff) {
  Pod pod;
  pod.containers.emplace_back().name = "a";
  const NodeRules off{.restart_rules = false};
  EXPECT_EQ("", ReasonOf(pod, off));
  pod.init_containers.emplace_back().restartable_init = true;
  EXPECT_EQ("", ReasonOf(pod, off)) << "a sidecar is another matter";
  pod.containers[0].restart_policy = RestartPolicy::kNever;
  EXPECT_EQ("", ReasonOf(pod, {}));
  EXPECT_EQ("ContainerRestartRules", ReasonOf(pod, off));
}

TEST(NodeRulesTest, SafeSysctlsMayBeSetAndUnsafeOnesWhereTheSettingsAllowThem) {
  NodeRules rules{.has_sandboxes = true};
  EXPECT_EQ("", ReasonOf(WithSysctl("net.ipv4.tcp_syncookies"), rules));
  EXPECT_EQ("", ReasonOf(WithSysctl("net/ipv4/tcp_syncookies"), rules));
  EXPECT_EQ("SysctlForbidden", ReasonOf(WithSysctl("net.core.somaxconn"), rules));
  EXPECT_THAT(WhyRefused(WithSysctl("kernel.msgmax"), rules).at(0).why.message,
              HasSubstr("\"kernel.msgmax\" not allowlisted"));
  rules.unsafe_sysctls = {"net.core.somaxconn", "kernel.msg*", "vm.*"};
  EXPECT_EQ("", ReasonOf(WithSysctl("net.core.somaxconn"), rules));
  EXPECT_EQ("", ReasonOf(WithSysctl("kernel.msgmax"), rules));
  EXPECT_EQ("SysctlForbidden", ReasonOf(WithSysctl("vm.swappiness"), rules)) << "of no namespace";
  Pod pod = WithSysctl("net.core.somaxconn");
  pod.host_network = true;
  EXPECT_EQ("SysctlForbidden", ReasonOf(pod, rules)) << "it would be the node's";
  pod = WithSysctl("kernel.msgmax");
  pod.host_ipc = true;
  EXPECT_EQ("SysctlForbidden", ReasonOf(pod, rules));
  rules.has_sandboxes = false;
  EXPECT_EQ("", ReasonOf(pod, rules)) << "the manifest is judged elsewhere";
}

TEST(NodeRulesTest, ClassesAndProfilesThatTheNodeDoesNotHaveAreRefused) {
  NodeRules rules{.has_sandboxes = true};
  Pod pod;
  pod.runtime_class = "kata";
  EXPECT_EQ("RuntimeClassUnknown", ReasonOf(pod, rules));
  rules.runtime_classes = {{"kata", "kata-qemu"}};
  EXPECT_EQ("", ReasonOf(pod, rules));
  pod.containers.resize(1);
  pod.containers[0].security.app_armor = "Unconfined";
  EXPECT_EQ("", ReasonOf(pod, rules));
  pod.containers[0].security.app_armor = "RuntimeDefault";
  EXPECT_EQ("AppArmor", ReasonOf(pod, rules));
  rules.app_armor = true;
  EXPECT_EQ("", ReasonOf(pod, rules));
  pod.security.supplemental_groups_policy = "Merge";
  EXPECT_EQ("", ReasonOf(pod, rules));
  pod.security.supplemental_groups_policy = "Strict";
  EXPECT_EQ("SupplementalGroupsPolicyNotSupported", ReasonOf(pod, rules));
  rules.strict_groups = true;
  EXPECT_EQ("", ReasonOf(pod, rules));
}

TEST(NodeRulesTest, MountsAreReadOnlyToTheirDepthsWhereTheHandlerOfTheRuntimeCanDoIt) {
  NodeRules rules{.has_sandboxes = true, .runtime_classes = {{"new", "runc-new"}}};
  Pod pod;
  pod.init_containers.resize(2);
  pod.init_containers[1].mounts = {{.name = "v", .recursive_read_only = "IfPossible"},
                                   {.name = "v", .recursive_read_only = "Enabled"}};
  EXPECT_EQ("RecursiveReadOnlyNotSupported", ReasonOf(pod, rules));
  EXPECT_EQ("spec.initContainers[1].volumeMounts[1].recursiveReadOnly", WhyRefused(pod, rules).at(0).path);
  rules.recursive_read_only = {"runc-new"};
  EXPECT_EQ("RecursiveReadOnlyNotSupported", ReasonOf(pod, rules)) << "not the default handler";
  pod.runtime_class = "new";
  EXPECT_EQ("", ReasonOf(pod, rules));
  rules.has_sandboxes = false;
  pod.runtime_class = "";
  EXPECT_EQ("", ReasonOf(pod, rules)) << "the manifest is judged elsewhere";
}

TEST(NodeRulesTest, APlainProcessGetsOnlyCapabilitiesThatBerthdHas) {
  Pod pod;
  pod.containers.resize(1);
  pod.containers[0].security.add_capabilities = {"ALL", "NET_ADMIN"};
  NodeRules rules;
  EXPECT_EQ("", ReasonOf(pod, rules));
  rules.capabilities &= ~os::CapabilityBit(*os::CapabilityNumber("NET_ADMIN"));
  EXPECT_EQ("CapabilityMissing", ReasonOf(pod, rules));
  rules.has_sandboxes = true;
  EXPECT_EQ("", ReasonOf(pod, rules)) << "a runtime has its own";
}

TEST(NodeRulesTest, CapabilitiesAreThoseThatLinuxHas) {
  Pod pod;
  pod.containers.resize(2);
  pod.containers[1].name = "b";
  pod.containers[0].security.drop_capabilities = {"ALL"};
  pod.containers[1].security.add_capabilities = {"NET_ADMIN", "CAP_SYS_TIME"};
  EXPECT_EQ("", ReasonOf(pod, {}));
  pod.containers[1].security.add_capabilities.emplace_back("FLY");
  const auto refused = WhyRefused(pod, {});
  ASSERT_THAT(refused, testing::SizeIs(1));
  EXPECT_EQ("CapabilityUnknown", refused[0].why.reason);
  EXPECT_EQ("b", refused[0].why.container);
  EXPECT_EQ("spec.containers[1].securityContext.capabilities.add", refused[0].path);
  EXPECT_THAT(refused[0].why.message, HasSubstr("\"FLY\""));
  EXPECT_EQ("CapabilityUnknown", ReasonOf(pod, {.has_sandboxes = true}));
}

TEST(NodeRulesTest, EveryReasonIsNamed) {
  Pod pod;
  pod.containers.resize(2);
  pod.runtime_class = "kata";
  pod.security.sysctls = {{"kernel.msgmax", "1"}, {"vm.swappiness", "1"}};
  pod.containers[0].security = {.app_armor = "RuntimeDefault", .drop_capabilities = {"FLY"}};
  pod.containers[1].security.add_capabilities = {"SWIM"};
  std::vector<std::string> paths;
  for (const Refusal& refused : WhyRefused(pod, {.has_sandboxes = true})) paths.push_back(refused.path);
  EXPECT_THAT(paths,
              testing::ElementsAre("spec.containers[1].securityContext.capabilities.add",
                                   "spec.containers[0].securityContext.capabilities.drop",
                                   "spec.securityContext.sysctls[0].name", "spec.securityContext.sysctls[1].name",
                                   "spec.runtimeClassName", "spec.containers[0].securityContext.appArmorProfile"));
}

Pod WithPort(std::int32_t port, std::int32_t host_port, const std::string& ip = "",
             const std::string& protocol = "TCP") {
  Pod pod;
  pod.containers.resize(1);
  pod.containers[0].ports = {{.port = port, .host_port = host_port, .host_ip = ip, .protocol = protocol}};
  return pod;
}

TEST(NodeRulesTest, APortOfTheNodeIsOnePodsAtAnAddress) {
  EXPECT_EQ("80/TCP", SharedHostPort(WithPort(1, 80), WithPort(2, 80)));
  EXPECT_EQ("", SharedHostPort(WithPort(1, 80), WithPort(1, 81)));
  EXPECT_EQ("", SharedHostPort(WithPort(1, 80), WithPort(1, 80, "", "UDP")));
  EXPECT_EQ("", SharedHostPort(WithPort(1, 80, "10.0.0.1"), WithPort(1, 80, "10.0.0.2")));
  EXPECT_EQ("80/TCP", SharedHostPort(WithPort(1, 80, "10.0.0.1"), WithPort(1, 80, "0.0.0.0")));
  Pod in_node = WithPort(80, 0);
  EXPECT_EQ("", SharedHostPort(in_node, WithPort(1, 80)));
  in_node.host_network = true;
  EXPECT_EQ("80/TCP", SharedHostPort(in_node, WithPort(1, 80))) << "it is in the node's network";
}

}  // namespace
}  // namespace berth::pods
