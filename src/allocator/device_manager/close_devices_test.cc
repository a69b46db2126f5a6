// The option closeDevices, through whole decisions: rules/devices#closeness.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "allocator/engine.h"
#include "allocator/testing/random_node.h"

namespace berth::allocator {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using testing::Cpus;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using testing::MakeContainer;
using testing::MakeMachine;
using testing::MakePod;
using testing::PropertySteps;
using testing::RandomNode;
using testing::StaticConfig;

void AddFunctionAt(Machine& machine, const std::string& address, std::vector<std::string> above,
                   const std::string& local_cpus = "") {
  PciDevice& function = machine.pci.emplace_back();
  function.address = address;
  function.above = std::move(above);
  if (!local_cpus.empty()) function.local_cpus = Cpus(local_cpus);
}

KubeletConfiguration AlignedConfig(const std::string& scope = "container") {
  KubeletConfiguration out = StaticConfig();
  out.topology_manager_policy = "restricted";
  out.topology_manager_scope = scope;
  return out;
}

/// Two nodes of four cores. Node 0 has GPU g0 and NIC n0 on different roots, node 1 g1 and n1 below one switch.
struct CloseDevicesTest : ::testing::Test {
  CloseDevicesTest() {
    machine = MakeMachine({.sockets = 2, .cores_per_node = 4, .threads = 1});
    AddFunctionAt(machine, "0000:01:00.0", {"pci0000:00", "0000:00:01.0"});
    AddFunctionAt(machine, "0000:11:00.0", {"pci0000:10", "0000:10:01.0"});
    AddFunctionAt(machine, "0000:81:00.0", {"pci0000:80", "0000:80:01.0"});
    AddFunctionAt(machine, "0000:82:00.0", {"pci0000:80", "0000:80:01.0"});
    inputs.devices["a.com/gpu"] = {At("g0", 0, "0000:01:00.0"), At("g1", 1, "0000:81:00.0")};
    inputs.devices["b.com/nic"] = {At("n0", 0, "0000:11:00.0"), At("n1", 1, "0000:82:00.0")};
  }
  static Device At(const std::string& id, unsigned node, const std::string& pci) {
    return {.id = id, .nodes = {NumaId{node}}, .healthy = true, .pci = pci};
  }
  Decision DecidePod(const Pod& pod, bool close, Trace* trace = nullptr) {
    const auto node = Node::Make(machine, config, {.close_devices = close});
    EXPECT_TRUE(node) << node.error().message;
    return Decide(*node, node->EmptyLedger(), pod, inputs, trace);
  }
  PodRecord Placed(const Pod& pod, bool close = true, Trace* trace = nullptr) {
    const Decision decision = DecidePod(pod, close, trace);
    const Admit* const admit = std::get_if<Admit>(&decision);
    EXPECT_NE(admit, nullptr);
    return admit == nullptr ? PodRecord() : *admit->delta.put;
  }
  static std::string DevicesText(const PodRecord& record) {
    std::string out;
    for (const Placement& placement : record.placements)
      for (const DeviceAssignment& given : placement.devices)
        for (const std::string& id : given.ids) out += (out.empty() ? "" : " ") + id;
    return out;
  }
  static Pod GpuAndNic(const std::string& count = "1") {
    return MakePod(
        "p", {MakeContainer("app", {{"cpu", "1"}, {"memory", "1Gi"}, {"a.com/gpu", count}, {"b.com/nic", count}})});
  }
  Machine machine;
  KubeletConfiguration config = AlignedConfig();
  Inputs inputs;
};

TEST_F(CloseDevicesTest, OfEqualNodesTheOneWhoseDevicesShareASwitchIsTaken) {
  EXPECT_EQ(DevicesText(Placed(GpuAndNic(), false)), "g0 n0") << "the kubelet's rule: the lowest node";
  Trace trace;
  const PodRecord record = Placed(GpuAndNic(), true, &trace);
  EXPECT_EQ(DevicesText(record), "g1 n1");
  EXPECT_EQ(record.placements[0].hint->nodes, NodeSet{NumaId{1}});
  EXPECT_THAT(record.placements[0].cpus, Cpus("4"));
  EXPECT_THAT(trace.steps(), Contains(AllOf(Field(&TraceStep::stage, "close"),
                                            Field(&TraceStep::text, "g1, n1 below 0000:80:01.0 of pci0000:80"))));
  EXPECT_THAT(trace.steps(), Contains(Field(&TraceStep::text, HasSubstr("their devices lie closest together"))));
}

TEST_F(CloseDevicesTest, WithinANodeTheDevicesThatShareARootAreTaken) {
  for (auto& [resource, devices] : inputs.devices)
    for (Device& device : devices) device.nodes = {NumaId{0}};
  EXPECT_EQ(DevicesText(Placed(GpuAndNic(), false)), "g0 n0");
  EXPECT_EQ(DevicesText(Placed(GpuAndNic())), "g1 n1");
}

TEST_F(CloseDevicesTest, WithoutKnownPlacesDecisionsAreTheKubelets) {
  machine.pci.clear();
  EXPECT_EQ(DevicesText(Placed(GpuAndNic())), "g0 n0");
}

TEST_F(CloseDevicesTest, AnIdThatIsAnAddressNeedsNoOther) {
  inputs.devices["b.com/nic"] = {{.id = "0000:11:00.0", .nodes = {NumaId{0}}},
                                 {.id = "0000:82:00.0", .nodes = {NumaId{1}}}};
  EXPECT_EQ(DevicesText(Placed(GpuAndNic())), "g1 0000:82:00.0");
}

TEST_F(CloseDevicesTest, AlignmentWithinNodesComesFirst) {
  inputs.devices["b.com/nic"].pop_back();
  EXPECT_EQ(DevicesText(Placed(GpuAndNic())), "g0 n0") << "g1 shares nothing with n0, and sits on another node";
}

TEST_F(CloseDevicesTest, UnderPolicyNoneDevicesAreCloseToo) {
  config.topology_manager_policy = "none";
  EXPECT_EQ(DevicesText(Placed(GpuAndNic(), false)), "g0 n0");
  EXPECT_EQ(DevicesText(Placed(GpuAndNic())), "g1 n1");
}

TEST_F(CloseDevicesTest, InScopePodContainersSharePlaces) {
  config = AlignedConfig("pod");
  const Pod pod = MakePod("p", {MakeContainer("a", {{"cpu", "1"}, {"memory", "1Gi"}, {"a.com/gpu", "1"}}),
                                MakeContainer("b", {{"cpu", "1"}, {"memory", "1Gi"}, {"b.com/nic", "1"}})});
  EXPECT_EQ(DevicesText(Placed(pod, false)), "g0 n0");
  EXPECT_EQ(DevicesText(Placed(pod)), "g1 n1");
}

TEST_F(CloseDevicesTest, InScopePodEachContainerGetsItsOwnPair) {
  config = AlignedConfig("pod");
  for (auto& [resource, devices] : inputs.devices)
    for (Device& device : devices) device.nodes = {NumaId{0}};
  std::swap(inputs.devices["b.com/nic"][0].pci, inputs.devices["b.com/nic"][1].pci);
  machine.pci[1].above = machine.pci[0].above;
  const std::map<std::string, std::string> one = {
      {"cpu", "1"}, {"memory", "1Gi"}, {"a.com/gpu", "1"}, {"b.com/nic", "1"}};
  const Pod pod = MakePod("p", {MakeContainer("a", one), MakeContainer("b", one)});
  EXPECT_EQ(DevicesText(Placed(pod, false)), "g0 n0 g1 n1");
  EXPECT_EQ(DevicesText(Placed(pod)), "g0 n1 g1 n0");
}

TEST_F(CloseDevicesTest, APlugInThatPrefersSeveralIsFollowedByTheOthers) {
  for (auto& [resource, devices] : inputs.devices)
    for (Device& device : devices) device.nodes = {NumaId{0}};
  inputs.devices["a.com/gpu"].push_back(At("g2", 0, "0000:01:00.0"));
  inputs.devices["a.com/gpu"].push_back(At("g3", 0, "0000:01:00.0"));
  inputs.preferred_devices["a.com/gpu"] = {"g3", "g2"};
  Pod pod = GpuAndNic("2");
  pod.containers[0].resources.limits["b.com/nic"] = pod.containers[0].resources.requests["b.com/nic"] = testing::Q("1");
  std::swap(inputs.devices["b.com/nic"][0].pci, inputs.devices["b.com/nic"][1].pci);
  machine.pci[1].above = machine.pci[0].above;
  EXPECT_EQ(DevicesText(Placed(pod)), "g2 g3 n1");
}

TEST_F(CloseDevicesTest, CpusLocalToTheDevicesAreTaken) {
  machine.pci[2].local_cpus = machine.pci[3].local_cpus = Cpus("6-7");
  Trace trace;
  EXPECT_THAT(Placed(GpuAndNic(), true, &trace).placements[0].cpus, Cpus("6"));
  EXPECT_THAT(trace.steps(), Contains(Field(&TraceStep::text, HasSubstr("local to its devices"))));
  Pod many = GpuAndNic();
  many.containers[0].resources.limits["cpu"] = many.containers[0].resources.requests["cpu"] = testing::Q("3");
  EXPECT_THAT(Placed(many).placements[0].cpus, Cpus("4-6")) << "two are not enough: as without them";
}

/// A GPU whose memory is a NUMA node of its own: node 2 without CPUs, nearer to node 1.
struct CpulessNodeTest : CloseDevicesTest {
  CpulessNodeTest() {
    NumaNode& gpu = machine.nodes.emplace_back();
    gpu.id = NumaId{2};
    gpu.memory = GiB(90);
    for (unsigned n = 0; n < 2; ++n) machine.nodes[n].distances.push_back(n == 0 ? 40 : 20);
    gpu.distances = {40, 20, 10};
    machine.pci.clear();
    inputs.devices["a.com/gpu"] = {{.id = "g0", .nodes = {NumaId{2}}}};
  }
};

TEST_F(CpulessNodeTest, SpoilsTheAlignmentUnderTheKubeletsRules) {
  EXPECT_TRUE(std::holds_alternative<Reject>(DecidePod(GpuAndNic(), false)));
  config.topology_manager_policy = "best-effort";
  const PodRecord record = Placed(GpuAndNic(), false);
  EXPECT_FALSE(record.placements[0].hint->preferred);
  EXPECT_EQ(DevicesText(record), "g0 n0");
}

TEST_F(CpulessNodeTest, CountsOnTheNearestNodesWithCpus) {
  const PodRecord record = Placed(GpuAndNic());
  EXPECT_EQ(record.placements[0].hint, (TopologyHint{NodeSet{NumaId{1}}, true}));
  EXPECT_EQ(DevicesText(record), "g0 n1");
  EXPECT_THAT(record.placements[0].cpus, Cpus("4"));
}

TEST_F(CpulessNodeTest, LocalCpusSayMoreThanDistances) {
  AddFunctionAt(machine, "0000:01:00.0", {"pci0000:00"}, "0-3");
  inputs.devices["a.com/gpu"][0].pci = "0000:01:00.0";
  EXPECT_EQ(DevicesText(Placed(GpuAndNic())), "g0 n0");
}

TEST_F(CpulessNodeTest, StaysWhereItIsWhenNothingIsKnownOfItsNode) {
  for (NumaNode& node : machine.nodes) node.distances.clear();
  EXPECT_TRUE(std::holds_alternative<Reject>(DecidePod(GpuAndNic(), true)));
}

/// Roots and bridges common to all pairs of devices of a container.
std::int64_t ClosenessOf(const Machine& machine, const Placement& placement) {
  std::vector<const PciDevice*> functions;
  for (const DeviceAssignment& given : placement.devices)
    for (const std::string& id : given.ids)
      functions.push_back(&*std::ranges::find(machine.pci, given.resource + id, &PciDevice::address));
  std::int64_t out = 0;
  for (std::size_t a = 0; a < functions.size(); ++a)
    for (std::size_t b = a + 1; b < functions.size(); ++b)
      out += std::ranges::mismatch(functions[a]->above, functions[b]->above).in1 - functions[a]->above.begin();
  return out;
}

/// Number of hinted nodes, below zero where they are not preferred.
int Width(const Placement& placement) {
  if (!placement.hint || !placement.hint->nodes) return 0;
  return placement.hint->preferred ? placement.hint->nodes->Count() : -placement.hint->nodes->Count();
}

TEST(CloseDevicesPropertyTest, NoPodIsRefusedOrLessAlignedOrFurtherApartForIt) {
  std::int64_t closer = 0;
  // Each is worth hundreds of decisions.
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(PropertySteps(60000) / 200); ++seed) {
    RandomNode random(seed);
    const auto drawn = random.MakeNode();
    if (!drawn) continue;
    Machine machine = drawn->machine();
    Inputs inputs = random.MakeInputs(*drawn);
    for (NumaNode& node : machine.nodes) node.distances.clear();
    for (auto& [resource, devices] : inputs.devices)
      for (Device& device : devices) {
        device.pci = resource + device.id;
        AddFunctionAt(machine, device.pci,
                      {"root" + std::to_string(random.Roll(2)), "port" + std::to_string(random.Roll(2))});
      }
    const auto plain = Node::Make(machine, drawn->config(), {.node_fit = false});
    const auto close = Node::Make(machine, drawn->config(), {.node_fit = false, .close_devices = true});
    if (!plain) continue;  // these settings want distances
    ASSERT_TRUE(close);
    Ledger ledger = plain->EmptyLedger();
    for (int step = 0; step < 8; ++step) {
      const Pod pod = random.MakePod();
      const Decision without = Decide(*plain, ledger, pod, inputs, nullptr);
      const Decision with = Decide(*close, ledger, pod, inputs, nullptr);
      const Admit* const a = std::get_if<Admit>(&without);
      const Admit* const b = std::get_if<Admit>(&with);
      // The first container starts from the same books, and there one scope is as the other.
      if (a != nullptr && pod.init_containers.empty() && pod.containers.size() == 1) {
        ASSERT_NE(b, nullptr) << "seed " << seed << " step " << step;
        const Placement& before = a->delta.put->placements[0];
        const Placement& after = b->delta.put->placements[0];
        ASSERT_EQ(Width(before), Width(after)) << "seed " << seed << " step " << step;
        const std::int64_t gained = ClosenessOf(machine, after) - ClosenessOf(machine, before);
        ASSERT_GE(gained, 0) << "seed " << seed << " step " << step;
        closer += gained;
      }
      if (b != nullptr) Apply(ledger, b->delta);
    }
  }
  EXPECT_GT(closer, 0);
}

}  // namespace
}  // namespace berth::allocator
