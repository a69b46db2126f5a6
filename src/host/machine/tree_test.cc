// Trees that are small, odd or damaged, in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "host/machine/describe.h"
#include "host/machine/load_machine.h"
#include "host/machine/tree_files.h"
#include "host/machine/tree_nodes.h"
#include "testing/memory_fs.h"

namespace berth::machine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kCpu = "sys/devices/system/cpu/";
const std::string kNode = "sys/devices/system/node/";

void AddCpu(testkit::MemoryFs& fs, int cpu, int core, int socket) {
  const std::string dir = kCpu + "cpu" + std::to_string(cpu) + "/topology/";
  fs.AddFile(dir + "core_id", std::to_string(core) + "\n");
  fs.AddFile(dir + "physical_package_id", std::to_string(socket) + "\n");
}

void AddCache(testkit::MemoryFs& fs, int cpu, int index, int level, const std::string& id, const std::string& map) {
  const std::string dir = kCpu + "cpu" + std::to_string(cpu) + "/cache/index" + std::to_string(index) + "/";
  if (!id.empty()) fs.AddFile(dir + "id", id + "\n");
  fs.AddFile(dir + "level", std::to_string(level) + "\n");
  fs.AddFile(dir + "size", "16384K\n");
  fs.AddFile(dir + "type", "Unified\n");
  fs.AddFile(dir + "shared_cpu_map", map + "\n");
}

/// One node, CPUs 0-3, two threads each: 0+2 and 1+3.
void AddSmallMachine(testkit::MemoryFs& fs) {
  fs.AddFile(kCpu + "present", "0-3\n");
  fs.AddFile(kCpu + "online", "0-3\n");
  for (int cpu = 0; cpu < 4; ++cpu) {
    AddCpu(fs, cpu, cpu % 2, 0);
    AddCache(fs, cpu, 0, 1, "0", cpu % 2 == 0 ? "5" : "a");
    AddCache(fs, cpu, 3, 3, "7", "f");
    fs.AddLink(kNode + "node0/cpu" + std::to_string(cpu), "../../cpu/cpu" + std::to_string(cpu));
  }
  fs.AddFile(kNode + "node0/meminfo", "Node 0 MemTotal:       1024 kB\nNode 0 MemFree: 1 kB\n");
  fs.AddFile(kNode + "node0/hugepages/hugepages-2048kB/nr_hugepages", "3\n");
  fs.AddFile(kNode + "node0/distance", "10\n");
  fs.AddFile("proc/meminfo", "MemTotal:       4096 kB\n");
  fs.AddFile("proc/cpuinfo", "processor\t: 0\nphysical id\t: 0\nprocessor\t: 1\nphysical id\t: 0\n");
}

std::string ErrorOf(testkit::MemoryFs& fs) {
  const Result<Machine> machine = LoadTree(fs, "tree");
  return machine ? "no error" : machine.error().message;
}

TEST(LoadTreeTest, ReadsWhatTheKubeletSees) {
  testkit::MemoryFs fs;
  AddSmallMachine(fs);
  const Result<Machine> machine = LoadTree(fs, "tree");
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ(
      "cpus 4 sockets 1 cores 2 memory 4MiB hugepages 3*2MiB\n"
      "present 0-3 online 0-3 isolated none nohz_full none\n"
      "node 0 memory 1MiB hugepages 3*2MiB distances 10\n"
      "  socket 0 die 0 cores 0:0+2 1:1+3\n"
      "l3 7 16MiB cpus 0-3\n",
      Describe(*machine));
  EXPECT_FALSE(machine->this_host);
  EXPECT_EQ("", machine->boot_id);
}

TEST(LoadTreeTest, AnL3OfPartOfANodeIsUncore) {
  testkit::MemoryFs fs;
  AddSmallMachine(fs);
  for (int cpu = 0; cpu < 4; ++cpu) AddCache(fs, cpu, 3, 3, std::to_string(cpu % 2), cpu % 2 == 0 ? "5" : "a");
  const Result<Machine> machine = LoadTree(fs, "tree");
  ASSERT_TRUE(machine);
  ASSERT_THAT(machine->nodes[0].cores, SizeIs(2));
  EXPECT_THAT(machine->nodes[0].cores[0].uncore, ElementsAre(UncoreCache{CacheId{0}, MiB(16), "Unified", 3}));
  EXPECT_THAT(machine->nodes[0].cores[1].uncore, ElementsAre(UncoreCache{CacheId{1}, MiB(16), "Unified", 3}));
}

TEST(LoadTreeTest, AnUnreadableCacheEndsTheWalkForTheNode) {
  testkit::MemoryFs fs;
  AddSmallMachine(fs);
  for (int cpu = 0; cpu < 4; ++cpu) AddCache(fs, cpu, 3, 3, std::to_string(cpu % 2), cpu % 2 == 0 ? "5" : "a");
  fs.Drop(kCpu + "cpu0/cache/index3/id");  // the first core's: the second core gets nothing either
  const Result<Machine> machine = LoadTree(fs, "tree");
  ASSERT_TRUE(machine);
  EXPECT_THAT(machine->nodes[0].cores[0].uncore, IsEmpty());
  EXPECT_THAT(machine->nodes[0].cores[1].uncore, IsEmpty());
  EXPECT_THAT(machine->l3, SizeIs(2)) << "Berth's own groups do not need the id";
}

TEST(LoadTreeTest, AnOfflineSiblingTurnsTheNodesL3IntoUncoreForItsCore) {
  testkit::MemoryFs fs;
  AddSmallMachine(fs);
  fs.AddFile(kCpu + "online", "0-2\n");
  for (int cpu = 0; cpu < 4; ++cpu) AddCache(fs, cpu, 3, 3, "7", "7");
  const Result<Machine> machine = LoadTree(fs, "tree");
  ASSERT_TRUE(machine);
  EXPECT_THAT(machine->nodes[0].cores[0].uncore, SizeIs(1)) << "3 CPUs share it, 2 cores of 2 threads would be 4";
  EXPECT_THAT(machine->nodes[0].cores[1].uncore, SizeIs(1)) << "3 CPUs share it, 2 cores of 1 thread would be 2";
  EXPECT_EQ(3, machine->reported_cpus);
  EXPECT_EQ("0-3", FormatIds(machine->present));
}

TEST(LoadTreeTest, MissingFilesHaveFallbacks) {
  testkit::MemoryFs fs;
  AddSmallMachine(fs);
  for (const char* file : {"online", "present"}) fs.Drop(kCpu + file);
  fs.Drop("proc");
  fs.Drop(kNode + "node0/distance");
  fs.Drop(kNode + "node0/hugepages");
  fs.Drop(kNode + "node0/meminfo");
  const Result<Machine> machine = LoadTree(fs, "tree");
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ("0-3", FormatIds(machine->online)) << "every CPU folder is online";
  EXPECT_EQ(1, machine->reported_sockets) << "from physical_package_id";
  EXPECT_EQ(0, machine->nodes[0].memory.v);
  EXPECT_EQ(0, machine->memory.v);
  EXPECT_THAT(machine->nodes[0].hugepages, IsEmpty());
  EXPECT_THAT(machine->nodes[0].distances, IsEmpty());
}

TEST(LoadTreeTest, ACpuWithoutCoreIdIsSkipped) {
  testkit::MemoryFs fs;
  AddSmallMachine(fs);
  fs.Drop(kCpu + "cpu3/topology/core_id");
  const Result<Machine> machine = LoadTree(fs, "tree");
  ASSERT_TRUE(machine);
  EXPECT_EQ("0-2", FormatIds(UsableCpus(*machine)));
  EXPECT_EQ("0-3", FormatIds(machine->online));
}

TEST(LoadTreeTest, ReadsIsolatedAndHybridCpus) {
  testkit::MemoryFs fs;
  AddSmallMachine(fs);
  fs.AddFile(kCpu + "isolated", "2-3\n");
  fs.AddFile(kCpu + "nohz_full", "  (null)\n");
  fs.AddFile("sys/devices/cpu_core/cpus", "0,2\n");
  fs.AddFile("sys/devices/cpu_atom/cpus", "1,3\n");
  const Result<Machine> machine = LoadTree(fs, "tree");
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ("2-3", FormatIds(machine->isolated));
  EXPECT_EQ("", FormatIds(machine->nohz_full));
  EXPECT_EQ(CoreKind::kPerformance, machine->nodes[0].cores[0].kind);
  EXPECT_EQ(CoreKind::kEfficiency, machine->nodes[0].cores[1].kind);
}

TEST(LoadTreeTest, PciDevicesHaveNamesAndPlaces) {
  testkit::MemoryFs fs;
  AddSmallMachine(fs);
  const std::string dir = "sys/devices/pci0000:00/0000:00:03.0/";
  fs.AddFile(dir + "class", "0x020000\n");
  fs.AddFile(dir + "vendor", "0x1af4\n");
  fs.AddFile(dir + "device", "junk\n");
  fs.AddFile(dir + "numa_node", "-1\n");
  fs.AddFile(dir + "local_cpulist", "0-1\n");
  fs.AddLink("sys/bus/pci/devices/0000:00:03.0", "../../../devices/pci0000:00/0000:00:03.0");
  fs.AddLink("sys/class/net/eth0", "../../devices/pci0000:00/0000:00:03.0/virtio1/net/eth0");
  fs.AddLink("sys/class/net/lo", "../../devices/virtual/net/lo");
  const Result<Machine> machine = LoadTree(fs, "tree");
  ASSERT_TRUE(machine) << machine.error().message;
  PciDevice nic{.address = "0000:00:03.0",
                .class_id = 0x020000,
                .vendor = 0x1af4,
                .device = 0,
                .name = "eth0",
                .node = std::nullopt,
                .local_cpus = CpuSet::Range(0, 1),
                .above = {"pci0000:00"}};
  EXPECT_THAT(machine->pci, ElementsAre(nic));
}

TEST(LoadTreeTest, PciDevicesKnowTheirRootAndTheBridgesBelowIt) {
  testkit::MemoryFs fs;
  AddSmallMachine(fs);
  const std::string dir = "sys/devices/platform/pci10000:00/pci0000:3a/0000:3a:00.0/0000:3b:00.0/0000:3c:04.0/";
  fs.AddFile(dir + "0000:3d:00.0/class", "0x030200\n");
  fs.AddLink("sys/bus/pci/devices/0000:3d:00.0", "../../../" + dir.substr(4) + "0000:3d:00.0");
  const Result<Machine> machine = LoadTree(fs, "tree");
  ASSERT_TRUE(machine) << machine.error().message;
  ASSERT_THAT(machine->pci, SizeIs(1));
  EXPECT_THAT(machine->pci[0].above,
              ElementsAre("pci10000:00", "pci0000:3a", "0000:3a:00.0", "0000:3b:00.0", "0000:3c:04.0"));
}

TEST(LoadTreeTest, PartitionsAreNoNamesOfTheirDisk) {
  testkit::MemoryFs fs;
  AddSmallMachine(fs);
  fs.AddFile("sys/bus/pci/devices/0000:00:02.0/class", "0x010000\n");
  fs.AddLink("sys/class/block/vda", "../../devices/pci0000:00/0000:00:02.0/virtio0/block/vda");
  fs.AddLink("sys/class/block/vda1", "../../devices/pci0000:00/0000:00:02.0/virtio0/block/vda/vda1");
  const Result<Machine> machine = LoadTree(fs, "tree");
  ASSERT_TRUE(machine);
  ASSERT_THAT(machine->pci, SizeIs(1));
  EXPECT_EQ("vda", machine->pci[0].name);
}

TEST(LoadTreeTest, NamesTheFileThatIsWrong) {
  struct Damage {
    std::string file, content, message;
  };
  const Damage damages[] = {
      {kCpu + "online", "0-x\n", "tree: sys/devices/system/cpu/online: bad CPU list field '0-x'"},
      {kCpu + "online", "\n", "no online CPU"},
      {kCpu + "present", "99999", "ids above 8191"},
      {kCpu + "isolated", "\x01\x02", "sys/devices/system/cpu/isolated: bad CPU list field '\\x01\\x02'"},
      {kCpu + "cpu9999/x", "", "sys/devices/system/cpu/cpu9999: ids above 8191"},
      {kCpu + "cpu1/topology/core_id", "", "cpu1/topology/core_id: expected a number, got ''"},
      {kCpu + "cpu1/topology/physical_package_id", "1e9", "physical_package_id: expected a number, got '1e9'"},
      {kNode + "node0/meminfo", "nothing here", "node0/meminfo: expected a line 'MemTotal: <number> kB'"},
      {kNode + "node0/meminfo", "MemTotal: 99999999999999999999 kB", "node0/meminfo: expected a line"},
      {kNode + "node0/distance", "10 x", "node0/distance: expected distances such as '10 21', got '10 x'"},
      {kNode + "node0/hugepages/hugepages-2048kB/nr_hugepages", "-1", "nr_hugepages: expected a number of pages"},
      {kNode + "node0/hugepages/what", "", "node0/hugepages: expected only folders named hugepages-<size>kB"},
      {kNode + "node8192/x", "", "node8192: ids above 8191"},
  };
  for (const Damage& damage : damages) {
    testkit::MemoryFs fs;
    AddSmallMachine(fs);
    fs.AddFile(damage.file, damage.content);
    EXPECT_THAT(ErrorOf(fs), HasSubstr(damage.message)) << damage.file;
  }
}

TEST(LoadTreeTest, ACpuOfTwoNodesIsAnError) {
  testkit::MemoryFs fs;
  AddSmallMachine(fs);
  fs.AddLink(kNode + "node1/cpu3", "../../cpu/cpu3");
  EXPECT_THAT(ErrorOf(fs), HasSubstr("CPU 3 belongs to two cores"));
}

TEST(LoadTreeTest, AnEmptyTreeHasNoCpu) {
  testkit::MemoryFs fs;
  const Result<Machine> machine = LoadTree(fs, "tree");
  ASSERT_FALSE(machine);
  EXPECT_EQ(Code::kNotFound, machine.error().code);
}

TEST(LoadTreeTest, AnyFileMayBeMissingOrJunkWithoutHarm) {
  testkit::MemoryFs whole;
  AddSmallMachine(whole);
  const std::string junk[] = {"", "\n", "-1", "99999999999999999999", "0-", "a,b", std::string("\0\0", 2), "0-8191"};
  for (const std::string& file : whole.Files()) {
    testkit::MemoryFs without;
    AddSmallMachine(without);
    without.Drop(file);
    EXPECT_NE("", ErrorOf(without)) << file;
    for (const std::string& content : junk) {
      testkit::MemoryFs damaged;
      AddSmallMachine(damaged);
      damaged.AddFile(file, content);
      const Result<Machine> machine = LoadTree(damaged, "tree");
      const std::string message = machine ? "sys/" : machine.error().message;
      EXPECT_THAT(message, testing::AnyOf(HasSubstr("sys/"), HasSubstr("proc/"), HasSubstr("belongs to two cores")));
    }
  }
}

TEST(LoadTreeTest, RandomMachinesKeepEveryOnlineCpuOnce) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    std::mt19937_64 random(seed);
    testkit::MemoryFs fs;
    const int nodes = 1 + static_cast<int>(random() % 5);
    CpuSet online;
    int cpu = 0;
    for (int node = 0; node < nodes; ++node) {
      const std::string dir = kNode + "node" + std::to_string(node * 3);
      fs.AddDir(dir);
      for (int i = static_cast<int>(random() % 9); i > 0; --i, ++cpu) {
        AddCpu(fs, cpu, i / 2, node);
        fs.AddLink(dir + "/cpu" + std::to_string(cpu), "../../cpu/cpu" + std::to_string(cpu));
        if (random() % 4 != 0) online.Insert(CpuId{static_cast<std::uint32_t>(cpu)});
      }
    }
    if (online.empty()) continue;
    fs.AddFile(kCpu + "online", FormatIds(online) + "\n");
    const Result<Machine> machine = LoadTree(fs, "tree");
    ASSERT_TRUE(machine) << "seed " << seed << ": " << machine.error().message;
    EXPECT_EQ(online, UsableCpus(*machine)) << "seed " << seed;
    EXPECT_EQ(online.Count(), machine->reported_cpus) << "seed " << seed;
    EXPECT_EQ(static_cast<std::size_t>(nodes), machine->nodes.size()) << "seed " << seed;
  }
}

TEST(CpuMaskTest, ReadsGroupsHighestFirst) {
  EXPECT_EQ("0,32-39", FormatIds(*ParseCpuMask("ff,00000001")));
  EXPECT_EQ("", FormatIds(*ParseCpuMask("0")));
  EXPECT_EQ("4", FormatIds(*ParseCpuMask("0x10\n")));
}

TEST(CpuMaskTest, RefusesJunk) {
  for (const char* text : {"", ",", "1,", "xyz", "1 2", "123456789", "-1"}) EXPECT_FALSE(ParseCpuMask(text)) << text;
  std::string wide = "1";
  for (int i = 0; i < 256; ++i) wide += ",0";
  EXPECT_FALSE(ParseCpuMask(wide)) << "CPU 8192";
}

TEST(CacheSizeTest, KnowsKilobytesAndMegabytes) {
  EXPECT_EQ(Bytes{32768}, ParseCacheSize("32K"));
  EXPECT_EQ(MiB(4), ParseCacheSize("4M"));
  EXPECT_EQ(Bytes{7}, ParseCacheSize("7"));
  for (const char* text : {"", "K", "-1K", "1G", "99999999999999999999K"}) EXPECT_FALSE(ParseCacheSize(text)) << text;
}

}  // namespace
}  // namespace berth::machine
