#include "allocator/node/node_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "allocator/testing/builders.h"

namespace berth::allocator {
namespace {

using ::testing::AllOf;
using testing::Cpus;
using ::testing::HasSubstr;
using testing::MakeMachine;
using testing::PinMemory;
using testing::Q;
using testing::Shape;
using testing::StaticConfig;

Machine TwoNodes() { return MakeMachine({.sockets = 2, .cores_per_node = 2}); }
Machine FourNodes() { return MakeMachine({.sockets = 2, .nodes_per_socket = 2, .cores_per_node = 2}); }

/// Why a node is refused; "" if it is not.
std::string Refusal(const Machine& machine, const KubeletConfiguration& config) {
  const auto node = Node::Make(machine, config);
  return node ? "" : node.error().message;
}

/// CPU policy static with an amount reserved instead of a list.
KubeletConfiguration ByAmount(std::string_view cpu, std::map<std::string, std::string> options = {}) {
  KubeletConfiguration out = StaticConfig("");
  out.system_reserved["cpu"] = Q(cpu);
  out.cpu_manager_policy_options = std::move(options);
  return out;
}

std::string ReservedBy(const Machine& machine, const KubeletConfiguration& config) {
  const auto node = Node::Make(machine, config);
  return node ? FormatIds(node->reserved_cpus()) : node.error().message;
}

TEST(SettingsTest, ChoosesReservedCpusByAmountLikeAContainers) {
  EXPECT_EQ(ReservedBy(FourNodes(), ByAmount("1")), "0");
  EXPECT_EQ(ReservedBy(FourNodes(), ByAmount("1001m")), "0,8");
  EXPECT_EQ(ReservedBy(FourNodes(), ByAmount("3")), "0-1,8");
  EXPECT_EQ(ReservedBy(FourNodes(), ByAmount("4")), "0-1,8-9");
}

TEST(SettingsTest, ChoosesReservedCpusByTheConfiguredOptions) {
  const std::map<std::string, std::string> spread{{"distribute-cpus-across-cores", "true"}};
  KubeletConfiguration config = ByAmount("3", spread);
  config.feature_gates["CPUManagerPolicyAlphaOptions"] = true;
  EXPECT_EQ(ReservedBy(FourNodes(), config), "0-2");
}

TEST(SettingsTest, RefusesAListThatIsNotOnTheMachine) {
  EXPECT_THAT(
      Refusal(TwoNodes(), StaticConfig("0,99")),
      AllOf(HasSubstr("reservedSystemCPUs"), HasSubstr("reserved-cpus: 0,99 is not a subset of online-cpus: 0-7")));
  EXPECT_THAT(Refusal(TwoNodes(), StaticConfig("0,x")), HasSubstr("reservedSystemCPUs"));
}

TEST(SettingsTest, RefusesTheStaticPolicyWithoutReservedCpus) {
  EXPECT_THAT(Refusal(TwoNodes(), StaticConfig("")),
              HasSubstr("unable to determine reserved CPU resources for static policy"));
}

TEST(SettingsTest, RefusesUnknownPoliciesByName) {
  KubeletConfiguration config = StaticConfig();
  config.cpu_manager_policy = "Static";
  EXPECT_THAT(Refusal(TwoNodes(), config),
              AllOf(HasSubstr("cpuManagerPolicy"), HasSubstr("unknown policy: \"Static\"")));
  config = StaticConfig();
  config.memory_manager_policy = "static";
  EXPECT_THAT(Refusal(TwoNodes(), config),
              AllOf(HasSubstr("memoryManagerPolicy"), HasSubstr("unknown policy: \"static\"")));
  config.memory_manager_policy = "BestEffort";
  EXPECT_THAT(Refusal(TwoNodes(), config), HasSubstr("not available for platform \"linux\""));
}

TEST(SettingsTest, TellsAllProblemsThatDoNotFollowFromAnother) {
  KubeletConfiguration config = StaticConfig("0,99");
  config.cpu_manager_policy_options = {{"full-cpus", "true"}, {"strict-cpu-reservation", "maybe"}};
  config.memory_manager_policy = "static";
  config.topology_manager_policy = "restricted";
  config.topology_manager_policy_options = {{"closest", "true"}, {"max-allowable-numa-nodes", "2"}};
  const std::string told = Refusal(TwoNodes(), config);
  for (const char* const part :
       {"0,99 is not a subset", "unknown CPU Manager Policy option: \"full-cpus\"",
        "cpuManagerPolicyOptions.strict-cpu-reservation", "memoryManagerPolicy: unknown policy: \"static\"",
        "topologyManagerPolicyOptions.closest", "topologyManagerPolicyOptions.max-allowable-numa-nodes"})
    EXPECT_THAT(told, HasSubstr(part));
  EXPECT_EQ(std::ranges::count(told, '\n'), 5) << told;
}

TEST(SettingsTest, RefusesContradictingCpuOptions) {
  KubeletConfiguration config = StaticConfig();
  config.cpu_manager_policy_options = {{"prefer-align-cpus-by-uncorecache", "true"},
                                       {"distribute-cpus-across-numa", "1"}};
  EXPECT_THAT(
      Refusal(TwoNodes(), config),
      HasSubstr("static policy options prefer-align-cpus-by-uncorecache and distribute-cpus-across-numa can not "
                "be used at the same time"));
  config.cpu_manager_policy_options["distribute-cpus-across-numa"] = "false";
  EXPECT_EQ(Refusal(TwoNodes(), config), "");
}

TEST(SettingsTest, ChecksTheGateOfAnOptionEvenIfItIsOff) {
  KubeletConfiguration config = StaticConfig();
  config.cpu_manager_policy_options = {{"distribute-cpus-across-cores", "false"}};
  EXPECT_THAT(Refusal(TwoNodes(), config), HasSubstr("CPU Manager Policy Alpha-level Options not enabled"));
}

TEST(SettingsTest, RefusesBadOptionValuesAndNames) {
  KubeletConfiguration config = StaticConfig();
  config.cpu_manager_policy_options = {{"full-pcpus-only", "yes"}};
  EXPECT_THAT(Refusal(TwoNodes(), config),
              AllOf(HasSubstr("cpuManagerPolicyOptions.full-pcpus-only"), HasSubstr("bad value")));
  config.cpu_manager_policy_options = {{"full-cpus", "true"}};
  EXPECT_THAT(Refusal(TwoNodes(), config), HasSubstr("unknown CPU Manager Policy option: \"full-cpus\""));
  config = StaticConfig();
  config.cpu_manager_policy = "none";
  config.cpu_manager_policy_options = {{"full-pcpus-only", "true"}};
  EXPECT_THAT(Refusal(TwoNodes(), config), HasSubstr("None policy: received unsupported options"));
}

TEST(SettingsTest, RefusesAlignBySocketWhereItCannotWork) {
  KubeletConfiguration config = StaticConfig();
  config.feature_gates["CPUManagerPolicyAlphaOptions"] = true;
  config.cpu_manager_policy_options = {{"align-by-socket", "true"}};
  config.topology_manager_policy = "single-numa-node";
  EXPECT_THAT(Refusal(TwoNodes(), config), HasSubstr("incompatible with CPUManager align-by-socket"));
  config.topology_manager_policy = "restricted";
  EXPECT_EQ(Refusal(TwoNodes(), config), "");
}

TEST(SettingsTest, LimitsTheNumberOfNodesOnlyWhenTold) {
  const Machine nine = MakeMachine({.sockets = 9, .cores_per_node = 1});
  KubeletConfiguration config = StaticConfig();
  EXPECT_EQ(Refusal(nine, config), "");
  config.topology_manager_policy = "best-effort";
  EXPECT_EQ(Refusal(nine, config), "");
  config.topology_manager_policy_options = {{"max-allowable-numa-nodes", "8"}};
  EXPECT_THAT(Refusal(nine, config), AllOf(HasSubstr("max-allowable-numa-nodes"),
                                           HasSubstr("unsupported on machines with more than 8 NUMA Nodes")));
  config.topology_manager_policy_options = {{"max-allowable-numa-nodes", "9"}};
  EXPECT_EQ(Refusal(nine, config), "");
  config.topology_manager_policy_options = {{"max-allowable-numa-nodes", "7"}};
  EXPECT_THAT(Refusal(nine, config), HasSubstr("should not be less than 8"));
  config.topology_manager_policy_options = {{"max-allowable-numa-nodes", "many"}};
  EXPECT_THAT(Refusal(nine, config), HasSubstr("unable to convert policy option to integer"));
}

TEST(SettingsTest, NamesTheSumThatReservedMemoryShouldHave) {
  KubeletConfiguration config = StaticConfig();
  PinMemory(config, "2Gi");
  EXPECT_EQ(Refusal(TwoNodes(), config), "");
  config.reserved_memory[0].limits["memory"] = Q("1Gi");
  EXPECT_THAT(Refusal(TwoNodes(), config),
              AllOf(HasSubstr("reservedMemory"), HasSubstr("the total amount \"1Gi\" of type \"memory\""),
                    HasSubstr("\"2Gi\""), HasSubstr("expected 2147483648 bytes")));
}

TEST(SettingsTest, RefusesReservedMemoryOnNodesThatAreNotThere) {
  KubeletConfiguration config = StaticConfig();
  PinMemory(config);
  config.reserved_memory[0].node = NumaId{5};
  EXPECT_THAT(
      Refusal(TwoNodes(), config),
      HasSubstr("the reserved memory configuration references a NUMA node 5 that does not exist on this machine"));
}

TEST(SettingsTest, RefusesReservedHugePagesThatNodeAllocatableDoesNotKnow) {
  KubeletConfiguration config = StaticConfig();
  PinMemory(config);
  config.reserved_memory[0].limits["hugepages-2Mi"] = Q("64Mi");
  EXPECT_THAT(Refusal(TwoNodes(), config), HasSubstr("of type \"hugepages-2Mi\" is not equal to the value \"0\""));
}

TEST(SettingsTest, RefusesTheStaticMemoryPolicyWithoutAnyReservation) {
  KubeletConfiguration config = StaticConfig();
  config.memory_manager_policy = "Static";
  EXPECT_THAT(Refusal(TwoNodes(), config), HasSubstr("you should specify the system reserved memory"));
}

TEST(SettingsTest, RefusesAReservationAboveCapacity) {
  KubeletConfiguration config = StaticConfig();
  config.kube_reserved["memory"] = Q("30Gi");
  EXPECT_THAT(Refusal(TwoNodes(), config),
              HasSubstr("Resource \"memory\" has a reservation of 30Gi but capacity of 20Gi"));
  config.kube_reserved = {{"disk", Q("1")}};
  EXPECT_THAT(Refusal(TwoNodes(), config), AllOf(HasSubstr("kubeReserved.disk"), HasSubstr("cannot reserve \"disk\"")));
}

TEST(SettingsTest, ComputesAllocatableFromReservationsEvictionAndHugePages) {
  Shape shape{.sockets = 2, .cores_per_node = 2, .node_memory = GiB(8)};
  shape.hugepages = {{MiB(2), 512}};
  KubeletConfiguration config = StaticConfig("0");
  config.eviction_hard->emplace("memory.available", "10%");
  const auto node = Node::Make(MakeMachine(shape), config);
  ASSERT_TRUE(node.has_value()) << node.error().message;
  EXPECT_EQ(node->allocatable().at("cpu"), Q("7"));
  EXPECT_EQ(node->allocatable().at("hugepages-2Mi"), Q("2Gi"));
  // 10 % as the kubelet computes it, with a 32-bit share: 1717986944 bytes of 16 GiB.
  EXPECT_EQ(node->allocatable().at("memory").Value(), GiB(14).v - 1717986944);
  EXPECT_EQ(node->allocatable().at("pods"), Q("110"));
}

TEST(SettingsTest, KeepsReservedCpusOutOfTheSharedPoolOnlyWhenStrict) {
  KubeletConfiguration config = StaticConfig("0-1");
  EXPECT_EQ(FormatIds(Node::Make(TwoNodes(), config)->EmptyLedger().shared), "0-7");
  config.cpu_manager_policy_options = {{"strict-cpu-reservation", "true"}};
  EXPECT_EQ(FormatIds(Node::Make(TwoNodes(), config)->EmptyLedger().shared), "2-7");
}

TEST(SettingsTest, RefusesAStrictReservationOfAllCpus) {
  KubeletConfiguration config = StaticConfig("0-7");
  EXPECT_EQ(Refusal(TwoNodes(), config), "");
  config.cpu_manager_policy_options = {{"strict-cpu-reservation", "true"}};
  EXPECT_THAT(Refusal(TwoNodes(), config), HasSubstr("all CPUs (0-7) are reserved"));
}

TEST(SettingsTest, RefusesDevicesOnUnknownNodes) {
  const auto node = Node::Make(TwoNodes(), StaticConfig());
  EXPECT_TRUE(CheckDevices(*node, {{"a.com/gpu", {{"g0", {NumaId{1}}, true}}}}).has_value());
  const auto unknown = CheckDevices(*node, {{"a.com/gpu", {{"g0", {NumaId{7}}, true}}}});
  ASSERT_FALSE(unknown.has_value());
  EXPECT_THAT(unknown.error().message, AllOf(HasSubstr("g0 of a.com/gpu"), HasSubstr("NUMA node 7 does not exist")));
  EXPECT_FALSE(CheckDevices(*node, {{"a.com/gpu", {{"g0", {}, true}, {"g0", {}, true}}}}).has_value());
}

}  // namespace
}  // namespace berth::allocator
