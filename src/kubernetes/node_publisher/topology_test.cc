// What a scheduler is told of a node, by the rules NodeResourceTopologyMatch reads it by.
#include "kubernetes/node_publisher/topology.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace berth::node_publisher {
namespace {

using codec::Json;

TEST(FingerprintTest, SetsOfPodsHaveTheNamesOthersGiveThem) {
  EXPECT_EQ("pfp0v001ef46db3751d8e999", PodFingerprint({}));
  EXPECT_EQ("pfp0v001e2494ad8715b4de9", PodFingerprint(std::vector<PodName>{{"default", "web"}}));
  const std::vector<PodName> two{{"default", "web"}, {"kube-system", "dns"}};
  EXPECT_EQ("pfp0v001edc3f68fdcf3fcc8", PodFingerprint(two));
  const std::vector<PodName> turned{two[1], two[0]};
  EXPECT_EQ(PodFingerprint(two), PodFingerprint(turned));
  std::vector<PodName> five;
  for (int i = 0; i < 5; ++i)
    five.push_back({"ns-with-a-rather-long-name-over-thirty-two-bytes", "pod-" + std::to_string(i)});
  EXPECT_EQ("pfp0v0010a14864746af0d12", PodFingerprint(five));
}

/// Two NUMA nodes, 0 and 3, of four CPUs each; CPU 0 is reserved.
struct TwoNodes {
  Machine machine;
  NodeView node;
  KubeletConfiguration config;
  Ledger ledger;
  DeviceInventory devices;

  TwoNodes() {
    std::uint32_t cpu = 0;
    for (const std::uint32_t id : {0U, 3U}) {
      NumaNode& one = machine.nodes.emplace_back();
      one.id = NumaId{id};
      one.memory = GiB(8);
      one.hugepages = {{MiB(2), 512}};
      one.distances = id == 0 ? std::vector<unsigned>{10, 21} : std::vector<unsigned>{21, 10};
      for (int core = 0; core < 2; ++core, cpu += 2) one.cores.emplace_back().threads = {CpuId{cpu}, CpuId{cpu + 1}};
    }
    machine.present = machine.online = node.all_cpus = CpuSet::Range(0, 7);
    node.reserved_cpus = CpuSet::Range(0, 0);
    node.topology_policy = "single-numa-node";
    node.topology_scope = "pod";
    devices["example.com/nic"] = {{.id = "a", .nodes = NodeSet::Range(0, 0)},
                                  {.id = "b", .nodes = NodeSet::Range(0, 3)},
                                  {.id = "ill", .nodes = NodeSet::Range(3, 3), .healthy = false}};
    devices["example.com/far"] = {{.id = "f", .nodes = {}}};
  }
  Placement& Place() {
    PodRecord& pod = ledger.pods["u"];
    pod.uid = "u";
    return pod.placements.emplace_back();
  }
  Json Published(const std::vector<PodName>& pods = {}) const {
    NodeSnapshot snapshot;
    snapshot.machine = std::make_shared<const Machine>(machine);
    snapshot.node = std::make_shared<const NodeView>(node);
    snapshot.ledger = std::make_shared<const Ledger>(ledger);
    snapshot.devices = std::make_shared<const DeviceInventory>(devices);
    return NodeResourceTopology("worker-1", snapshot, config, pods);
  }
  /// "capacity allocatable available"; "" where the zone does not list it.
  std::string Amounts(std::size_t zone, const std::string& resource) const {
    const Json published = Published();
    for (const Json& one : published["zones"][zone]["resources"])
      if (one["name"] == resource)
        return one["capacity"].get<std::string>() + " " + one["allocatable"].get<std::string>() + " " +
               one["available"].get<std::string>();
    return "";
  }
};

std::string InMiB(std::int64_t capacity, std::int64_t allocatable, std::int64_t available) {
  return std::to_string(MiB(capacity).v) + " " + std::to_string(MiB(allocatable).v) + " " +
         std::to_string(MiB(available).v);
}

TEST(TopologyTest, ZonesAreCountedWithoutAGap) {
  const Json published = TwoNodes().Published({{"default", "web"}});
  EXPECT_EQ("topology.node.k8s.io/v1alpha2", published["apiVersion"]);
  EXPECT_EQ("worker-1", published["metadata"]["name"]);
  ASSERT_EQ(2U, published["zones"].size());
  EXPECT_EQ("node-0", published["zones"][0]["name"]);
  EXPECT_EQ("node-1", published["zones"][1]["name"]);
  EXPECT_EQ("Node", published["zones"][1]["type"]);
  EXPECT_EQ(R"([{"name":"node-0","value":21},{"name":"node-1","value":10}])", published["zones"][1]["costs"].dump());
  EXPECT_EQ(
      R"([{"name":"topologyManagerPolicy","value":"single-numa-node"},{"name":"topologyManagerScope","value":"pod"},)"
      R"({"name":"nodeTopologyPodsFingerprint","value":"pfp0v001e2494ad8715b4de9"},)"
      R"({"name":"nodeTopologyPodsFingerprintMethod","value":"all"}])",
      published["attributes"].dump());
}

TEST(TopologyTest, ReservedCpusAreNotAllocatableAndExclusiveOnesNotAvailable) {
  TwoNodes node;
  EXPECT_EQ("4 3 3", node.Amounts(0, "cpu"));
  node.Place().cpus = CpuSet::Range(2, 4);
  EXPECT_EQ("4 3 1", node.Amounts(0, "cpu"));
  EXPECT_EQ("4 4 3", node.Amounts(1, "cpu"));
}

TEST(TopologyTest, WhatIsSharedLowersNothing) {
  TwoNodes node;
  node.Place();
  EXPECT_EQ("4 4 4", node.Amounts(1, "cpu"));
}

TEST(TopologyTest, MemoryIsThereWithAndWithoutAMemoryManager) {
  TwoNodes node;
  EXPECT_EQ(InMiB(8192, 7168, 7168), node.Amounts(0, "memory"));
  EXPECT_EQ(InMiB(1024, 1024, 1024), node.Amounts(0, "hugepages-2Mi"));
  MemoryTable table{.total = GiB(8), .system_reserved = GiB(1), .allocatable = GiB(6), .reserved = {}, .free = GiB(6)};
  for (const std::uint32_t id : {0U, 3U}) node.ledger.memory[NumaId{id}].types["memory"] = table;
  NodeSet both = NodeSet::Range(0, 0);
  both.Insert(NumaId{3});
  node.Place().memory = std::vector<MemoryBlock>{{both, "memory", GiB(2)}};
  EXPECT_EQ(InMiB(8192, 6144, 4096), node.Amounts(0, "memory"));
  EXPECT_EQ(InMiB(8192, 6144, 4096), node.Amounts(1, "memory"));
}

TEST(TopologyTest, AvailableIsNeverNegative) {
  TwoNodes node;
  node.Place().memory = std::vector<MemoryBlock>{{NodeSet::Range(0, 0), "memory", GiB(90)}};
  EXPECT_EQ(InMiB(8192, 7168, 0), node.Amounts(0, "memory"));
}

TEST(TopologyTest, DevicesCountOnEachOfTheirNodes) {
  TwoNodes node;
  EXPECT_EQ("2 2 2", node.Amounts(0, "example.com/nic"));
  EXPECT_EQ("1 1 1", node.Amounts(1, "example.com/nic"));
  EXPECT_EQ("", node.Amounts(0, "example.com/far"));
  node.Place().devices = {{.resource = "example.com/nic", .ids = {"b"}, .answer = {}}};
  EXPECT_EQ("2 2 1", node.Amounts(0, "example.com/nic"));
  EXPECT_EQ("1 1 0", node.Amounts(1, "example.com/nic"));
}

}  // namespace
}  // namespace berth::node_publisher
