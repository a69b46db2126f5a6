// Captured machines: a golden text for each, and what is odd about the odd ones by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "host/machine/describe.h"
#include "host/machine/load_machine.h"
#include "host/machine/shared_trees_test.h"

namespace berth::machine {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class CapturedTest : public testing::TestWithParam<std::string> {};

TEST_P(CapturedTest, LooksLikeItsGoldenText) {
  const Result<Machine> machine = Load(GetParam());
  ASSERT_TRUE(machine) << machine.error().message;
  testkit::ExpectGolden("tests/golden/machine/" + TreeName(GetParam()) + ".txt", Describe(*machine));
}

TEST_P(CapturedTest, ComesBackFromMachineInfo) {
  const Result<Machine> machine = Load(GetParam());
  ASSERT_TRUE(machine) << machine.error().message;
  const Result<Machine> again = ParseMachineInfo(FormatMachineInfo(*machine), "again");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(FormatMachineInfo(*machine), FormatMachineInfo(*again));
  EXPECT_EQ(UsableCpus(*machine), again->online);
  EXPECT_EQ(machine->reported_cpus, again->reported_cpus);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CapturedTest);
INSTANTIATE_TEST_SUITE_P(All, CapturedTest, testing::ValuesIn(SharedTrees()), TreeTestName);

/// Tarballs in the checkout, made with `berth machine --capture`.
std::vector<std::string> OwnCaptures() {
  std::vector<std::string> out;
  std::error_code error;
  const std::filesystem::path folder = testkit::SourcePath("tests/golden/machine/captures");
  for (const auto& entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().native().ends_with(".tar.gz")) out.push_back(entry.path());
  std::ranges::sort(out);
  return out;
}

TEST(OwnCaptureTest, LooksLikeItsGoldenText) {
  ASSERT_FALSE(OwnCaptures().empty());
  for (const std::string& file : OwnCaptures()) {
    const Result<Machine> machine = Load(file);
    ASSERT_TRUE(machine) << machine.error().message;
    std::string name = std::filesystem::path(file).filename();
    name.resize(name.size() - std::string_view(".tar.gz").size());
    testkit::ExpectGolden("tests/golden/machine/captures/" + name + ".txt", Describe(*machine));
  }
}

/// What a synthetic text can say of a machine.
Machine Bare(Machine machine) {
  machine.source.clear();
  machine.memory = {};
  machine.hugepages.clear();
  machine.pci.clear();
  for (NumaNode& node : machine.nodes) {
    node.memory = {};
    node.hugepages.clear();
    node.distances.clear();
  }
  for (L3Group& group : machine.l3) group.size = {};
  return machine;
}

TEST(OwnCaptureTest, AgreesWithItsSyntheticTwin) {
  const Result<Machine> captured = Load(testkit::SourcePath("tests/golden/machine/captures/2amd64-1s2c-vm.tar.gz"));
  ASSERT_TRUE(captured) << captured.error().message;
  const Result<Machine> twin = ParseSynthetic("pack:1 numa:1 l3:1 core:2 pu:1");
  ASSERT_TRUE(twin) << twin.error().message;
  EXPECT_EQ(Bare(*twin), Bare(*captured));
}

/// Machines that need care. Skips when the tarballs are not beside the checkout.
class OddMachineTest : public testing::Test {
 protected:
  void Read(const std::string& name) {
    const auto file = testkit::SharedPath("machines/" + name + std::string(kTreeEnding));
    if (!file) GTEST_SKIP() << "no captured machine " << name << " beside the checkout";
    Result<Machine> loaded = Load(*file);
    ASSERT_TRUE(loaded) << loaded.error().message;
    machine_ = *std::move(loaded);
  }
  const NumaNode& Node(std::uint32_t id) const {
    const auto found = std::ranges::find(machine_.nodes, NumaId{id}, &NumaNode::id);
    EXPECT_NE(found, machine_.nodes.end()) << "node " << id;
    return found == machine_.nodes.end() ? nobody_ : *found;
  }
  std::string CpusOf(std::uint32_t id) const { return FormatIds(CpusOfNode(machine_, NumaId{id})); }
  std::set<std::uint32_t> Dies(SocketId socket) const {
    std::set<std::uint32_t> out;
    for (const NumaNode& node : machine_.nodes)
      for (const Core& core : node.cores)
        if (core.socket == socket) out.insert(Raw(core.die));
    return out;
  }
  CpuSet OfKind(CoreKind kind) const {
    CpuSet out;
    for (const NumaNode& node : machine_.nodes)
      for (const Core& core : node.cores)
        for (const CpuId cpu : core.threads)
          if (core.kind == kind) out.Insert(cpu);
    return out;
  }
  Machine machine_;

 private:
  NumaNode nobody_;
};

TEST_F(OddMachineTest, OfflineCpu0AndNode0AreNotUsed) {
  Read("offline-cpu0-node0");
  if (IsSkipped()) return;
  EXPECT_EQ("0-23", FormatIds(machine_.present));
  EXPECT_EQ("4-20", FormatIds(machine_.online));
  EXPECT_EQ("1", FormatIds(NodeIds(machine_)));
  EXPECT_EQ("5,7,9,11,13,15,17,19", FormatIds(UsableCpus(machine_))) << "CPUs of the missing node cannot be placed";
  EXPECT_EQ(8, machine_.reported_cpus);
  EXPECT_EQ(2, machine_.reported_sockets) << "cpuinfo still names both";
  EXPECT_THAT(Node(1).distances, ElementsAre(21u, 10u));
}

TEST_F(OddMachineTest, NodesFollowTheLinksWhenMasksAreBuggy) {
  Read("8em64t-2s2ca2c-buggynuma");
  if (IsSkipped()) return;
  ASSERT_THAT(machine_.nodes, SizeIs(8));
  for (std::uint32_t id = 0; id < 8; ++id) EXPECT_EQ(std::to_string(id), CpusOf(id));
}

TEST_F(OddMachineTest, SixtyFourNodesComeInOrderOfTheirNames) {
  Read("256ia64-64n2s2c");
  if (IsSkipped()) return;
  ASSERT_THAT(machine_.nodes, SizeIs(64));
  EXPECT_EQ(NumaId{0}, machine_.nodes[0].id);
  EXPECT_EQ(NumaId{1}, machine_.nodes[1].id);
  EXPECT_EQ(NumaId{10}, machine_.nodes[2].id);
  EXPECT_EQ(NumaId{9}, machine_.nodes[63].id);
  EXPECT_EQ("252-255", CpusOf(63));
  EXPECT_EQ(256, machine_.reported_cpus);
  EXPECT_THAT(Node(5).distances, SizeIs(64));
  EXPECT_EQ(10u, Node(63).distances.back());
}

TEST_F(OddMachineTest, GpuMemoryNodesAreSparseAndHaveNoCpus) {
  Read("nvidiagpunumanodes");
  if (IsSkipped()) return;
  EXPECT_EQ("0,8,250-255", FormatIds(NodeIds(machine_)));
  EXPECT_EQ("0-15", CpusOf(0));
  EXPECT_EQ("88-103", CpusOf(8));
  EXPECT_EQ(NumaId{8}, machine_.nodes.back().id) << "bytewise: node8 comes after node255";
  EXPECT_THAT(Node(252).cores, IsEmpty());
  EXPECT_EQ(GiB(15).v, Node(252).memory.v);
  ASSERT_THAT(Node(8).distances, SizeIs(8));
  EXPECT_EQ(40u, Node(0).distances[1]);
  EXPECT_EQ(80u, Node(8).distances[7]);
}

TEST_F(OddMachineTest, DiesAreKeptPerSocket) {
  Read("fakecpuid1f-64intel64-2p4d2n2c2t");
  if (IsSkipped()) return;
  EXPECT_THAT(machine_.nodes, SizeIs(16));
  for (std::uint32_t socket = 0; socket < 4; ++socket) EXPECT_THAT(Dies(SocketId{socket}), ElementsAre(0u, 1u));
  EXPECT_EQ(64, UsableCpus(machine_).Count());
  for (const NumaNode& node : machine_.nodes)
    for (const Core& core : node.cores) EXPECT_THAT(core.threads, SizeIs(2));
}

TEST_F(OddMachineTest, CapacitiesMakeKindsOfCores) {
  Read("nvidia-dgx-gb10");
  if (IsSkipped()) return;
  EXPECT_EQ("0-4,10-14", FormatIds(OfKind(CoreKind::kEfficiency)));
  EXPECT_EQ("5-9,15-19", FormatIds(OfKind(CoreKind::kPerformance)));
  EXPECT_EQ(CpuSet(), machine_.nohz_full) << "this kernel writes (null)";
}

TEST_F(OddMachineTest, OverlappingMasksGiveEachCpuOneHome) {
  Read("fakeheterocpunuma");
  if (IsSkipped()) return;
  EXPECT_EQ("0-3", CpusOf(0));
  EXPECT_EQ("8-11", CpusOf(1));
  EXPECT_EQ("", CpusOf(2));
  EXPECT_EQ("20-23", CpusOf(3));
  EXPECT_EQ("16-19", CpusOf(4));
  EXPECT_EQ("12-15", CpusOf(5));
  EXPECT_EQ("4-7", FormatIds(machine_.online - UsableCpus(machine_))) << "no node names them";
  EXPECT_EQ("0-3,8-11", FormatIds(OfKind(CoreKind::kEfficiency)));
}

TEST_F(OddMachineTest, BooksAndDrawersKeepCoresApart) {
  Read("20s390-2g6s4c");
  if (IsSkipped()) return;
  ASSERT_THAT(machine_.nodes, SizeIs(1));
  EXPECT_EQ(NumaId{0}, machine_.nodes[0].id) << "package -1 is no node id";
  EXPECT_THAT(machine_.nodes[0].cores, SizeIs(8));
  EXPECT_THAT(machine_.nodes[0].cores[0].threads, ElementsAre(CpuId{0}, CpuId{1}, CpuId{2}));
  EXPECT_EQ(20, machine_.reported_cpus);
}

TEST_F(OddMachineTest, PackagesAreNodesWithoutNuma) {
  Read("2arm-2c");
  if (IsSkipped()) return;
  EXPECT_EQ("3", FormatIds(NodeIds(machine_))) << "the id of the package";
  EXPECT_EQ(0, machine_.nodes[0].memory.v);
  EXPECT_GT(machine_.memory.v, 0) << "from /proc/meminfo";
}

TEST_F(OddMachineTest, SiblingListsStandInForMissingCoreIds) {
  Read("2ps3-2t");
  if (IsSkipped()) return;
  ASSERT_THAT(machine_.nodes, SizeIs(1));
  ASSERT_THAT(machine_.nodes[0].cores, SizeIs(1));
  EXPECT_THAT(machine_.nodes[0].cores[0].threads, ElementsAre(CpuId{0}, CpuId{1}));
}

TEST_F(OddMachineTest, MasksPlaceCpusThatHaveNoCoreIds) {
  Read("4fake-4gr1nu1pu");
  if (IsSkipped()) return;
  for (std::uint32_t id = 0; id < 4; ++id) EXPECT_EQ(std::to_string(id), CpusOf(id));
}

TEST_F(OddMachineTest, SubNumaClustersShareTheirL3) {
  Read("memorysidecaches");
  if (IsSkipped()) return;
  ASSERT_THAT(machine_.nodes, SizeIs(4));
  EXPECT_THAT(machine_.l3, SizeIs(2));
  EXPECT_EQ(40, machine_.l3[0].cpus.Count()) << "one L3 over two nodes";
  for (const NumaNode& node : machine_.nodes)
    for (const Core& core : node.cores) EXPECT_THAT(core.uncore, SizeIs(1));
  EXPECT_THAT(Node(0).distances, ElementsAre(10u, 21u, 11u, 21u));
}

TEST_F(OddMachineTest, PciDevicesKnowTheirNodes) {
  Read("32intel64-2p8co2t+8ve");
  if (IsSkipped()) return;
  ASSERT_FALSE(machine_.pci.empty());
  EXPECT_TRUE(std::ranges::is_sorted(machine_.pci, {}, &PciDevice::address));
  const auto ve = std::ranges::find(machine_.pci, "0000:17:00.0", &PciDevice::address);
  ASSERT_NE(ve, machine_.pci.end());
  EXPECT_EQ(NumaId{0}, ve->node);
}

TEST_F(OddMachineTest, DomainsOf32BitsAreAddresses) {
  Read("2pa-pcidomain32bits");
  if (IsSkipped()) return;
  EXPECT_TRUE(std::ranges::any_of(machine_.pci, [](const PciDevice& d) { return d.address.find(':') > 4; }));
}

}  // namespace
}  // namespace berth::machine
