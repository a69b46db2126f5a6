#include "view/machine_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"

namespace berth::view {
namespace {

using testing::HasSubstr;
using testing::Not;

/// Two sockets with a node each, a node without CPUs, one offline CPU, two PCI devices.
Machine TwoSockets() {
  Machine m;
  m.source = "a test";
  for (const std::uint32_t id : {0u, 1u, 10u}) {
    NumaNode node;
    node.id = NumaId{id};
    node.memory = GiB(64);
    node.distances = {10, 21, 40};
    if (id < 2) {
      node.hugepages = {{MiB(2), 0}, {MiB(1024), 4}};
      for (std::uint32_t core = 0; core < 2; ++core)
        node.cores.push_back({.core_id = core,
                              .socket = SocketId{id},
                              .die = {},
                              .threads = {CpuId{id * 2 + core}, CpuId{id * 2 + core + 4}},
                              .uncore = {},
                              .kind = CoreKind::kUniform});
    }
    m.nodes.push_back(std::move(node));
  }
  m.present = CpuSet::Range(0, 8);
  m.online = CpuSet::Range(0, 7);
  m.isolated = CpuSet::Range(3, 3);
  m.memory = GiB(192);
  m.l3 = {{CacheId{0}, MiB(32), CpuSet{CpuId{0}, CpuId{1}, CpuId{4}, CpuId{5}}},
          {CacheId{1}, MiB(32), CpuSet{CpuId{2}, CpuId{3}, CpuId{6}, CpuId{7}}}};
  m.pci = {{.address = "0000:00:00.0",
            .class_id = 0x060000,
            .vendor = 1,
            .device = 2,
            .name = "",
            .node = {},
            .local_cpus = {}},
           {.address = "0000:3b:00.0",
            .class_id = 0x020000,
            .vendor = 0x15b3,
            .device = 0x1017,
            .name = "eth0",
            .node = NumaId{1},
            .local_cpus = CpuSet::Range(2, 3)}};
  return m;
}

TEST(MachineTableTest, SaysOfTwoMemorySizesWhatEachIs) {
  Machine m = TwoSockets();
  EXPECT_EQ(std::nullopt, TwoMemorySizes(m));
  m.memory += MiB(1);
  EXPECT_EQ(std::nullopt, TwoMemorySizes(m)) << "rounded they are the same";
  m.memory = GiB(190);
  EXPECT_EQ("190 GiB (the kernel's MemTotal), 192 GiB on its NUMA nodes", TwoMemorySizes(m));
  EXPECT_THAT(MachineTable(m),
              HasSubstr("Memory         190 GiB (the kernel's MemTotal), 192 GiB on its NUMA nodes\n"));
  m.memory = {};
  EXPECT_EQ(std::nullopt, TwoMemorySizes(m)) << "it is not known";
}

TEST(MachineTableTest, ShowsEveryPart) {
  EXPECT_EQ(
      "Machine        a test\n"
      "CPUs           8 usable of 9 present\n"
      "Cores          4 cores in 2 sockets, 2 threads each\n"
      "Memory         192 GiB\n"
      "L3 caches      2 groups of 32 MiB\n"
      "Offline        8\n"
      "Isolated       3\n"
      "\n"
      "NODE  SOCKETS  CORES  CPUS     MEMORY  HUGE PAGES\n"
      "   0  0            2  0-1,4-5  64 GiB  4 x 1 GiB\n"
      "   1  1            2  2-3,6-7  64 GiB  4 x 1 GiB\n"
      "  10  -            0  -        64 GiB  -\n"
      "\n"
      "DISTANCES   0   1  10\n"
      "        0  10  21  40\n"
      "        1  10  21  40\n"
      "       10  10  21  40\n"
      "\n"
      "L3    SIZE  CPUS\n"
      " 0  32 MiB  0-1,4-5\n"
      " 1  32 MiB  2-3,6-7\n"
      "\n"
      "PCI DEVICE    KIND     ID         NODE  NAME  NEAR CPUS\n"
      "0000:3b:00.0  network  15b3:1017     1  eth0  2-3\n"
      "\n"
      "1 PCI function more (-o json lists them)\n",
      MachineTable(TwoSockets()));
}

TEST(MachineTableTest, SaysThatNoCachesAreKnownAndWhatThatMeans) {
  Machine m = TwoSockets();
  m.l3.clear();
  EXPECT_THAT(MachineTable(m),
              HasSubstr("L3 caches      none are known: prefer-align-cpus-by-uncorecache has nothing to go by\n"));
}

TEST(MachineTableTest, DevicesAreShownBelowTheirRootAndTheSwitchTheyShare) {
  Machine m = TwoSockets();
  m.pci[1].above = {"pci0000:3a", "0000:3a:00.0", "0000:3b:10.0"};
  m.pci.push_back(m.pci[1]);
  m.pci[2].address = "0000:3c:00.0";
  m.pci[2].above = {"pci0000:3a", "0000:3a:00.0", "0000:3b:11.0"};
  m.pci.push_back(m.pci[1]);
  m.pci[3].address = "0000:5e:00.0";
  m.pci[3].above = {"pci0000:5d", "0000:5d:00.0"};
  EXPECT_THAT(MachineTable(m),
              HasSubstr("PCI DEVICE    KIND     ID         NODE  ROOT     SWITCH        NAME  NEAR CPUS\n"
                        "0000:3b:00.0  network  15b3:1017     1  0000:3a  0000:3a:00.0  eth0  2-3\n"
                        "0000:3c:00.0  network  15b3:1017     1  0000:3a  0000:3a:00.0  eth0  2-3\n"
                        "0000:5e:00.0  network  15b3:1017     1  0000:5d  -             eth0  2-3\n"));
}

TEST(MachineTableTest, NodesAreInOrderOfIds) {
  Machine m = TwoSockets();
  std::swap(m.nodes[0], m.nodes[2]);
  EXPECT_EQ(MachineTable(TwoSockets()), MachineTable(m));
}

TEST(MachineTableTest, ManyNodesGetNoMatrix) {
  Machine m = TwoSockets();
  for (std::uint32_t id = 20; id < 40; ++id) {
    m.nodes.emplace_back();
    m.nodes.back().id = NumaId{id};
  }
  EXPECT_THAT(MachineTable(m), HasSubstr("\nDISTANCES  10, 21, 40 (-o json lists them all)\n"));
}

TEST(MachineTableTest, LinesFitTheTerminal) {
  Machine m = TwoSockets();
  CpuSet odd;
  for (std::uint32_t cpu = 1; cpu < 200; cpu += 2) odd.Insert(CpuId{cpu});
  m.l3[0].cpus = odd;
  m.pci[1].local_cpus = odd;
  const std::string text = MachineTable(m, {.width = 100, .color = false});
  for (const std::string_view line : Split(text, '\n')) EXPECT_LE(DisplayWidth(line), 100) << line;
}

TEST(MachineTableTest, NamesKindsOfCores) {
  Machine m = TwoSockets();
  for (NumaNode& node : m.nodes)
    for (Core& core : node.cores) core.kind = core.core_id == 0 ? CoreKind::kPerformance : CoreKind::kEfficiency;
  const std::string text = MachineTable(m);
  EXPECT_THAT(text, HasSubstr("P-cores        0,2,4,6\n"));
  EXPECT_THAT(text, HasSubstr("E-cores        1,3,5,7\n"));
}

TEST(MachineTableTest, AnEmptyMachineIsNoTrouble) {
  const std::string text = MachineTable({});
  EXPECT_THAT(text, HasSubstr("CPUs           0 usable of 0 present\n"));
  EXPECT_THAT(text, Not(HasSubstr("DISTANCES")));
}

TEST(MachineTableTest, SourcesCannotWriteControlCharacters) {
  Machine m = TwoSockets();
  m.source = "evil\x1b[2J";
  EXPECT_THAT(MachineTable(m), HasSubstr("evil\\x1b[2J"));
}

}  // namespace
}  // namespace berth::view
