// What the pod resources API says, field by field, and against a slow twin on random nodes.
#include "kubernetes/pod_resources/pod_resources_responses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "kubernetes/pod_resources/made_node_test.h"
#include "testing/fixtures.h"

namespace berth::pod_resources {
namespace {

using testing::ElementsAre;
using testkit::Cpus;

std::vector<std::int64_t> NodesIn(const v1::TopologyInfo& topology) {
  std::vector<std::int64_t> out;
  for (const v1::NUMANode& node : topology.nodes()) out.push_back(node.id());
  return out;
}

std::vector<std::string> NamesIn(const v1::PodResources& pod) {
  std::vector<std::string> out;
  for (const v1::ContainerResources& container : pod.containers()) out.push_back(container.name());
  return out;
}

std::vector<std::string> PodsIn(const v1::ListPodResourcesResponse& list) {
  std::vector<std::string> out;
  for (const v1::PodResources& pod : list.pod_resources()) out.push_back(pod.namespace_() + "/" + pod.name());
  return out;
}

/// The only container of the only pod.
v1::ContainerResources OnlyContainer(const MadeNode& node) {
  const v1::ListPodResourcesResponse list = ListPods(node.Snapshot(), true);
  EXPECT_EQ(1, list.pod_resources_size());
  return list.pod_resources(0).containers(0);
}

TEST(PodResourcesTest, NamesPodsAndContainersThatHoldNothing) {
  MadeNode node;
  node.Add("web", {{.name = "app"}});
  const v1::ListPodResourcesResponse list = ListPods(node.Snapshot(), true);
  ASSERT_EQ(1, list.pod_resources_size());
  EXPECT_EQ("web", list.pod_resources(0).name());
  EXPECT_EQ("default", list.pod_resources(0).namespace_());
  v1::ContainerResources bare;
  bare.set_name("app");
  ASSERT_EQ(1, list.pod_resources(0).containers_size());
  EXPECT_EQ(bare.SerializeAsString(), list.pod_resources(0).containers(0).SerializeAsString());
}

TEST(PodResourcesTest, ListsSidecarsThenAppsAndNoOtherInitContainers) {
  MadeNode node;
  node.Add("web", {{.name = "first", .kind = ContainerKind::kInit},
                   {.name = "log", .kind = ContainerKind::kSidecar},
                   {.name = "second", .kind = ContainerKind::kInit},
                   {.name = "net", .kind = ContainerKind::kSidecar},
                   {.name = "app"},
                   {.name = "more"}});
  EXPECT_THAT(NamesIn(ListPods(node.Snapshot(), true).pod_resources(0)), ElementsAre("log", "net", "app", "more"));
}

TEST(PodResourcesTest, ListsPodsThatAreActive) {
  MadeNode node;
  node.Add("pending", {{}}, {.phase = PodPhase::kPending, .holds = false});
  node.Add("running", {{}}, {.phase = PodPhase::kRunning});
  node.Add("refused", {{}}, {.phase = PodPhase::kFailed, .reason = "TopologyAffinityError", .holds = false});
  node.Add("done", {{}}, {.phase = PodPhase::kSucceeded, .holds = false});
  node.Add("ending", {{}}, {.phase = PodPhase::kRunning, .reason = "Terminating"});
  node.Add("evicted", {{}}, {.phase = PodPhase::kFailed, .reason = "Evicted"});
  node.Add("gone", {{}}, {.phase = PodPhase::kPending, .reason = "Terminating", .holds = false});
  EXPECT_THAT(PodsIn(ListPods(node.Snapshot(), true)),
              ElementsAre("default/ending", "default/evicted", "default/pending", "default/running"))
      << "who still holds something is active, whatever became of it";
  EXPECT_EQ(7, ListPods(node.Snapshot(), false).pod_resources_size());
  EXPECT_EQ(7, ListPodsAlpha(node.Snapshot()).pod_resources_size());
}

TEST(PodResourcesTest, CpuIdsAreThoseOfContainersWithCpusOfTheirOwn) {
  MadeNode node;
  node.shared = Cpus("0-1,8");
  node.Add("web", {{.name = "own", .cpus = Cpus("2,5-6")}, {.name = "shared"}});
  const v1::PodResources pod = ListPods(node.Snapshot(), true).pod_resources(0);
  EXPECT_THAT(pod.containers(0).cpu_ids(), ElementsAre(2, 5, 6));
  EXPECT_THAT(pod.containers(1).cpu_ids(), ElementsAre());
}

// Without the gate PodLevelResourceManagers a kubelet 1.37 says nothing there either.
TEST(PodResourcesTest, APodAsAWholeHasNeitherCpusNorMemory) {
  MadeNode node;
  node.Add("taken-over", {{.name = "app"}});
  node.ledger.pods.begin()->second.placements.push_back(
      {.container = "(pod)", .cpus = Cpus("2-3"), .memory = {{{{NumaId{0}}, "memory", GiB(1)}}}});
  const v1::PodResources pod = ListPods(node.Snapshot(), true).pod_resources(0);
  EXPECT_THAT(pod.cpu_ids(), ElementsAre());
  EXPECT_EQ(0, pod.memory_size());
  EXPECT_EQ(1, pod.containers_size());
  v1::PodResources newer;
  newer.add_cpu_ids(7);
  EXPECT_EQ(std::string("\x22\x01\x07"), newer.SerializeAsString()) << "field 4, as the interface numbers it";
  newer.clear_cpu_ids();
  newer.add_memory();
  EXPECT_EQ(std::string("\x2a\x00", 2), newer.SerializeAsString()) << "field 5";
}

TEST(PodResourcesTest, MemoryHasTypeSizeAndAllNodesOfItsBlock) {
  MadeNode node;
  node.Add("web", {{.memory = {{{{NumaId{0}, NumaId{3}}, "memory", GiB(5)}, {{NumaId{1}}, "hugepages-2Mi", MiB(4)}}}}});
  const v1::ContainerResources container = OnlyContainer(node);
  ASSERT_EQ(2, container.memory_size());
  EXPECT_EQ("memory", container.memory(0).memory_type());
  EXPECT_EQ(std::uint64_t{5} << 30, container.memory(0).size());
  EXPECT_THAT(NodesIn(container.memory(0).topology()), ElementsAre(0, 3));
  EXPECT_EQ("hugepages-2Mi", container.memory(1).memory_type());
  EXPECT_EQ(std::uint64_t{4} << 20, container.memory(1).size());
  EXPECT_THAT(NodesIn(container.memory(1).topology()), ElementsAre(1));
}

// E39 of the rules: one entry for each device and node.
TEST(PodResourcesTest, ADeviceOnTwoNodesIsTwoEntries) {
  MadeNode node;
  DeviceAssignment gpu{.resource = "vendor.com/gpu", .ids = {"g0", "g1"}, .answer = DeviceAnswer()};
  gpu.answer->nodes = {{"g0", {NumaId{0}, NumaId{1}}}, {"g1", {NumaId{1}}}};
  node.Add("web", {{.devices = {gpu}}});
  const v1::ContainerResources container = OnlyContainer(node);
  ASSERT_EQ(3, container.devices_size());
  const std::vector<std::pair<std::string, std::int64_t>> expected = {{"g0", 0}, {"g0", 1}, {"g1", 1}};
  for (int i = 0; i < 3; ++i) {
    const v1::ContainerDevices& devices = container.devices(i);
    EXPECT_EQ("vendor.com/gpu", devices.resource_name());
    EXPECT_THAT(devices.device_ids(), ElementsAre(expected[static_cast<std::size_t>(i)].first));
    EXPECT_THAT(NodesIn(devices.topology()), ElementsAre(expected[static_cast<std::size_t>(i)].second));
  }
}

TEST(PodResourcesTest, ADeviceWithoutNodesHasNoTopology) {
  MadeNode node;
  DeviceAssignment nic{.resource = "vendor.com/nic", .ids = {"n0"}, .answer = DeviceAnswer()};
  nic.answer->nodes = {{"n0", {}}};
  node.devices["vendor.com/nic"] = {{.id = "n0", .nodes = {NumaId{1}}}};  // later, and elsewhere
  node.Add("asked", {{.devices = {nic}}});
  nic.answer->nodes.clear();
  node.Add("not-kept", {{.devices = {nic}}});
  const v1::ListPodResourcesResponse list = ListPods(node.Snapshot(), true);
  for (const v1::PodResources& pod : list.pod_resources()) {
    const v1::ContainerResources& container = pod.containers(0);
    ASSERT_EQ(1, container.devices_size());
    EXPECT_THAT(container.devices(0).device_ids(), ElementsAre("n0"));
    EXPECT_FALSE(container.devices(0).has_topology());
  }
}

TEST(PodResourcesTest, ADeviceThatNobodyWasAskedAboutIsWhereItIsNow) {
  MadeNode node;
  node.devices["vendor.com/nic"] = {{.id = "n0", .nodes = {NumaId{0}}}, {.id = "n2", .nodes = {NumaId{1}}}};
  node.Add("web", {{.devices = {{.resource = "vendor.com/nic", .ids = {"n1", "n2"}}}}});
  const v1::ContainerResources container = OnlyContainer(node);
  ASSERT_EQ(2, container.devices_size());
  EXPECT_FALSE(container.devices(0).has_topology());
  EXPECT_THAT(NodesIn(container.devices(1).topology()), ElementsAre(1));
}

TEST(PodResourcesTest, AllocatableDevicesAreTheHealthyOnesGivenOrNot) {
  MadeNode node;
  node.devices["a.example/none"] = {};
  node.devices["b.example/gpu"] = {{.id = "g0", .nodes = {NumaId{0}, NumaId{1}}},
                                   {.id = "g1", .nodes = {NumaId{1}}, .healthy = false},
                                   {.id = "g2"}};
  node.Add("web", {{.devices = {{.resource = "b.example/gpu", .ids = {"g0"}}}}});
  const v1::AllocatableResourcesResponse said = AllocatableOf(node.Snapshot());
  ASSERT_EQ(3, said.devices_size());
  for (int i = 0; i < 3; ++i) EXPECT_EQ("b.example/gpu", said.devices(i).resource_name());
  EXPECT_THAT(said.devices(0).device_ids(), ElementsAre("g0"));
  EXPECT_THAT(NodesIn(said.devices(0).topology()), ElementsAre(0));
  EXPECT_THAT(said.devices(1).device_ids(), ElementsAre("g0"));
  EXPECT_THAT(NodesIn(said.devices(1).topology()), ElementsAre(1));
  EXPECT_THAT(said.devices(2).device_ids(), ElementsAre("g2"));
  EXPECT_FALSE(said.devices(2).has_topology());
}

TEST(PodResourcesTest, DynamicResourcesAreEmpty) {
  MadeNode node;
  node.Add("web", {{.cpus = Cpus("1")}});
  EXPECT_EQ(0, OnlyContainer(node).dynamic_resources_size());
}

TEST(PodResourcesTest, WhatInitContainersHoldIsNotTold) {
  MadeNode node;
  node.Add("web", {{.name = "first", .kind = ContainerKind::kInit, .cpus = Cpus("1-4")}, {.name = "app"}});
  EXPECT_EQ(0, OnlyContainer(node).cpu_ids_size());
}

TEST(PodResourcesTest, AllocatableIsWhatIsNotReservedWhoeverHasIt) {
  MadeNode node;
  node.view.cpu_policy = "static";
  node.view.all_cpus = Cpus("0-7");
  node.view.reserved_cpus = Cpus("0,4");
  node.ledger.memory[NumaId{0}].types["memory"] = {.allocatable = GiB(3), .reserved = GiB(2), .free = GiB(1)};
  node.ledger.memory[NumaId{0}].types["hugepages-1Gi"] = {.total = GiB(0)};
  node.ledger.memory[NumaId{2}].types["memory"] = {.allocatable = GiB(4), .free = GiB(4)};
  node.Add("web", {{.cpus = Cpus("1-2")}});
  const v1::AllocatableResourcesResponse said = AllocatableOf(node.Snapshot());
  EXPECT_THAT(said.cpu_ids(), ElementsAre(1, 2, 3, 5, 6, 7));
  ASSERT_EQ(2, said.memory_size()) << "a type of which there is none is left out";
  EXPECT_EQ("memory", said.memory(0).memory_type());
  EXPECT_EQ(std::uint64_t{3} << 30, said.memory(0).size());
  EXPECT_THAT(NodesIn(said.memory(0).topology()), ElementsAre(0));
  EXPECT_THAT(NodesIn(said.memory(1).topology()), ElementsAre(2));
}

TEST(PodResourcesTest, WithoutPoliciesNothingIsAllocatable) {
  MadeNode node;
  node.view.cpu_policy = "none";
  node.view.all_cpus = Cpus("0-7");
  EXPECT_EQ("", AllocatableOf(node.Snapshot()).SerializeAsString());
}

TEST(PodResourcesTest, TheOldVersionHasDevicesOfAppsOnly) {
  MadeNode node;
  DeviceAssignment gpu{.resource = "vendor.com/gpu", .ids = {"g0"}, .answer = DeviceAnswer()};
  gpu.answer->nodes = {{"g0", {NumaId{1}}}};
  node.Add("web", {{.name = "log", .kind = ContainerKind::kSidecar},
                   {.cpus = Cpus("1"), .memory = {{{{NumaId{0}}, "memory", GiB(1)}}}, .devices = {gpu}}});
  const v1::ListPodResourcesResponse list = ListPodsAlpha(node.Snapshot());
  v1::ListPodResourcesResponse expected;
  v1::PodResources& pod = *expected.add_pod_resources();
  pod.set_name("web");
  pod.set_namespace_("default");
  v1::ContainerResources& app = *pod.add_containers();
  app.set_name("app");
  v1::ContainerDevices& devices = *app.add_devices();
  devices.set_resource_name("vendor.com/gpu");
  devices.add_device_ids("g0");
  EXPECT_EQ(expected.SerializeAsString(), list.SerializeAsString());
}

// ---- a slow twin ----

using Facts = std::multiset<std::string>;

std::string FactOf(const std::string& where, const std::string& what, const std::vector<std::int64_t>& nodes) {
  std::string out = where + " " + what + " @";
  for (const std::int64_t node : nodes) out += " " + std::to_string(node);
  return out;
}

/// What is said, one fact a line.
Facts Said(const v1::ListPodResourcesResponse& list) {
  Facts out;
  for (const v1::PodResources& pod : list.pod_resources()) {
    const std::string name = pod.namespace_() + "/" + pod.name();
    out.insert(name);
    for (const v1::ContainerResources& container : pod.containers()) {
      const std::string where = name + "/" + container.name();
      out.insert(where);
      for (const std::int64_t cpu : container.cpu_ids()) out.insert(where + " cpu " + std::to_string(cpu));
      for (const v1::ContainerMemory& memory : container.memory())
        out.insert(
            FactOf(where, memory.memory_type() + "=" + std::to_string(memory.size()), NodesIn(memory.topology())));
      for (const v1::ContainerDevices& devices : container.devices())
        for (const std::string& id : devices.device_ids())
          out.insert(FactOf(where, devices.resource_name() + "=" + id, NodesIn(devices.topology())));
    }
  }
  return out;
}

/// The same, from placements outwards instead of from pods inwards.
Facts Twin(const NodeSnapshot& node) {
  Facts out;
  std::set<std::string> listed;  // uid/container
  for (const PodSnapshot& pod : node.pods) {
    const PodView& view = *pod.view;
    const bool ended = view.phase == PodPhase::kSucceeded || view.phase == PodPhase::kFailed;
    if (!node.ledger->pods.contains(view.uid) && (ended || view.reason == "Terminating")) continue;
    out.insert(FullName(view));
    for (const ContainerView& container : view.containers)
      if (container.kind != ContainerKind::kInit) {
        out.insert(FullName(view) + "/" + container.name);
        listed.insert(view.uid + "/" + container.name);
      }
  }
  for (const auto& [uid, record] : node.ledger->pods)
    for (const Placement& placement : record.placements) {
      if (!listed.contains(uid + "/" + placement.container)) continue;
      const std::string where = FullName(record) + "/" + placement.container;
      for (std::uint32_t cpu = 0; cpu <= kMaxId; ++cpu)
        if (placement.cpus && placement.cpus->Contains(CpuId{cpu})) out.insert(where + " cpu " + std::to_string(cpu));
      const auto nodes_of = [](const NodeSet& nodes) {
        std::vector<std::int64_t> ids;
        for (std::uint32_t id = 0; id < 300; ++id)
          if (nodes.Contains(NumaId{id})) ids.push_back(id);
        return ids;
      };
      for (const MemoryBlock& block : placement.memory.value_or(std::vector<MemoryBlock>()))
        out.insert(FactOf(where, block.type + "=" + std::to_string(block.size.v), nodes_of(block.nodes)));
      for (const DeviceAssignment& assignment : placement.devices)
        for (const std::string& id : assignment.ids) {
          const std::string what = assignment.resource + "=" + id;
          std::vector<std::int64_t> nodes;
          if (assignment.answer && assignment.answer->nodes.contains(id))
            nodes = nodes_of(assignment.answer->nodes.at(id));
          for (const auto& [resource, devices] : *node.devices)
            for (const Device& device : devices)
              if (!assignment.answer && resource == assignment.resource && device.id == id)
                nodes = nodes_of(device.nodes);
          if (nodes.empty()) out.insert(FactOf(where, what, {}));
          for (const std::int64_t one : nodes) out.insert(FactOf(where, what, {one}));
        }
    }
  return out;
}

TEST(PodResourcesPropertyTest, SaysWhatASlowTwinSays) {
  std::size_t facts = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const MadeNode node = RandomNode(seed);
    const NodeSnapshot snapshot = node.Snapshot();
    const v1::ListPodResourcesResponse list = ListPods(snapshot, true);
    const Facts twin = Twin(snapshot);
    ASSERT_EQ(twin, Said(list)) << "seed " << seed;
    facts += twin.size();
    v1::ListPodResourcesResponse alone;
    for (const PodSnapshot& pod : snapshot.pods)
      if (IsActive(snapshot, pod)) *alone.add_pod_resources() = ResourcesOf(snapshot, pod);
    ASSERT_EQ(alone.SerializeAsString(), list.SerializeAsString()) << "Get says what List says";
    v1::ListPodResourcesResponse again;
    ASSERT_TRUE(again.ParseFromString(list.SerializeAsString()));
    ASSERT_EQ(twin, Said(again));
  }
  EXPECT_GT(facts, 20'000U);
}

}  // namespace
}  // namespace berth::pod_resources
