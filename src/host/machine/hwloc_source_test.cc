#include "host/machine/hwloc_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hwloc.h>
#include <signal.h>
#include <unistd.h>

#include <map>
#include <random>
#include <set>
#include <string>

#include "host/machine/derive.h"
#include "host/machine/load_machine.h"
#include "host/machine/trial.h"
#include "testing/memory_fs.h"

namespace berth::machine {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

/// What a name of a shape promises.
struct Shape {
  std::string text;
  int sockets, nodes, l3_groups, cores, cpus;
  bool uncore;  ///< an L3 is smaller than its node
};

TEST(SyntheticTest, CurrentServersHaveTheirShapes) {
  const Shape shapes[] = {
      {"pack:1 numa:1 l3:8 core:8 pu:2", 1, 1, 8, 64, 128, true},
      {"pack:2 numa:4 l3:2 core:8 pu:2", 2, 8, 16, 128, 256, true},
      {"pack:2 numa:1 l3:12 core:16 pu:2", 2, 2, 24, 384, 768, true},
      {"pack:2 numa:2 l3:1 core:16 pu:2", 2, 4, 4, 64, 128, false},
      {"pack:2 numa:3 l3:1 core:14 pu:2", 2, 6, 6, 84, 168, false},
      {"pack:8 numa:1 l3:1 core:28 pu:2", 8, 8, 8, 224, 448, false},
      {"pack:1 numa:4 l3:1 core:32 pu:1", 1, 4, 4, 128, 128, false},
      {"pack:2 numa:1 l3:6 core:2 pu:4", 2, 2, 12, 24, 96, true},
  };
  for (const Shape& shape : shapes) {
    SCOPED_TRACE(shape.text);
    const Result<Machine> machine = ParseSynthetic(shape.text);
    ASSERT_TRUE(machine) << machine.error().message;
    EXPECT_EQ(shape.sockets, machine->reported_sockets);
    EXPECT_THAT(machine->nodes, SizeIs(shape.nodes));
    EXPECT_THAT(machine->l3, SizeIs(shape.l3_groups));
    EXPECT_EQ(shape.cores, machine->reported_cores);
    EXPECT_EQ(shape.cpus, machine->reported_cpus);
    EXPECT_EQ(shape.cpus, UsableCpus(*machine).Count());
    std::set<CacheId> uncore;
    for (const NumaNode& node : machine->nodes) {
      EXPECT_EQ(GiB(1).v, node.memory.v) << "hwloc's own default";
      for (const Core& core : node.cores)
        for (const UncoreCache& cache : core.uncore) uncore.insert(cache.id);
    }
    EXPECT_EQ(shape.uncore ? static_cast<std::size_t>(shape.l3_groups) : 0u, uncore.size());
  }
}

TEST(SyntheticTest, CoresAreNamedByTheirSmallestThread) {
  const Result<Machine> machine = ParseSynthetic("numa:1 core:2 pu:2(indexes=0,2,1,3)");
  ASSERT_TRUE(machine) << machine.error().message;
  ASSERT_THAT(machine->nodes[0].cores, SizeIs(2));
  EXPECT_EQ(CoreId{0}, IdOf(machine->nodes[0].cores[0]));
  EXPECT_THAT(machine->nodes[0].cores[0].threads, testing::ElementsAre(CpuId{0}, CpuId{2}));
  EXPECT_EQ(CoreId{1}, IdOf(machine->nodes[0].cores[1]));
}

TEST(SyntheticTest, NodesComeInOrderOfTheirNames) {
  const Result<Machine> machine = ParseSynthetic("numa:12 pu:1");
  ASSERT_TRUE(machine);
  EXPECT_EQ(NumaId{10}, machine->nodes[2].id);
  EXPECT_EQ(NumaId{2}, machine->nodes[4].id);
}

TEST(SyntheticTest, MemoryAndDiesCanBeSaid) {
  const Result<Machine> machine = ParseSynthetic("pack:1 die:2 numa:1(memory=64GiB) l3:1 core:4 pu:2");
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_EQ(GiB(64).v, machine->nodes[0].memory.v);
  EXPECT_EQ(GiB(128).v, machine->memory.v);
  std::set<DieId> dies;
  for (const NumaNode& node : machine->nodes)
    for (const Core& core : node.cores) dies.insert(core.die);
  EXPECT_THAT(dies, SizeIs(2));
}

TEST(SyntheticTest, NodesOfASocketAreNearerThanOthers) {
  const Result<Machine> machine = ParseSynthetic("pack:2 numa:2 core:2 pu:1");
  ASSERT_TRUE(machine) << machine.error().message;
  ASSERT_THAT(machine->nodes, SizeIs(4));
  EXPECT_THAT(machine->nodes[0].distances, testing::ElementsAre(10, 12, 32, 32));
  EXPECT_THAT(machine->nodes[3].distances, testing::ElementsAre(32, 32, 12, 10));
  EXPECT_THAT(ParseSynthetic("numa:2 core:2 pu:1")->nodes[0].distances[0], 10);
  EXPECT_EQ(256U, ParseSynthetic("numa:256 pu:1")->nodes[0].distances.size());
  EXPECT_TRUE(ParseSynthetic("numa:257 pu:1")->nodes[0].distances.empty()) << "that would be very many numbers";
  const Result<Machine> memory = ParseSynthetic("pack:2 [numa] [numa(memory=4GiB)] core:2 pu:1");
  ASSERT_TRUE(memory) << memory.error().message;
  EXPECT_THAT(memory->nodes[1].distances, testing::ElementsAre(32, 10, 32, 32)) << "memory without CPUs";
}

TEST(SyntheticTest, RefusesJunkWithItsText) {
  for (const char* text : {"foo:1", "pu", "pack:0 pu:1", "pack:-1 pu:2", "pu:2 core:2", "::::", "a\x01"}) {
    const Result<Machine> machine = ParseSynthetic(text);
    ASSERT_FALSE(machine) << text;
    EXPECT_EQ(Code::kInvalid, machine.error().code);
    EXPECT_THAT(machine.error().message, HasSubstr("synthetic machine '")) << text;
  }
  EXPECT_THAT(ParseSynthetic("  ").error().message, HasSubstr("the text is empty"));
  EXPECT_THAT(ParseSynthetic("pu:8193").error().message, HasSubstr("more than 8192 CPUs"));
  EXPECT_THAT(ParseSynthetic("pack:4000000000 core:4000000000 pu:2").error().message, HasSubstr("more than 8192 CPUs"));
}

/// The same regular machine as a tree of kernel files.
Result<Machine> TreeTwin(int nodes, int cores, int threads) {
  testkit::MemoryFs fs;
  int cpu = 0;
  for (int node = 0; node < nodes; ++node) {
    const std::string dir = "sys/devices/system/node/node" + std::to_string(node) + "/";
    fs.AddFile(dir + "meminfo", "Node 0 MemTotal: 1048576 kB\n");
    std::string distances;
    for (int other = 0; other < nodes; ++other)
      distances += std::string(other == 0 ? "" : " ") + (other == node ? "10" : "32");
    fs.AddFile(dir + "distance", distances + "\n");
    CpuSet shared;
    const int first = cpu;
    for (int core = 0; core < cores; ++core) {
      for (int thread = 0; thread < threads; ++thread, ++cpu) {
        shared.Insert(CpuId{static_cast<std::uint32_t>(cpu)});
        const std::string top = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
        fs.AddFile(top + "core_id", std::to_string(node * cores + core));
        fs.AddFile(top + "physical_package_id", std::to_string(node));
        fs.AddLink(dir + "cpu" + std::to_string(cpu), "../../cpu/cpu" + std::to_string(cpu));
      }
    }
    for (int i = first; i < cpu; ++i) {
      const std::string cache = "sys/devices/system/cpu/cpu" + std::to_string(i) + "/cache/index3/";
      char mask[32];
      std::snprintf(mask, sizeof mask, "%x", ((1u << (cpu - first)) - 1) << first);
      fs.AddFile(cache + "shared_cpu_map", mask);
      fs.AddFile(cache + "id", std::to_string(node));
      fs.AddFile(cache + "level", "3");
      fs.AddFile(cache + "size", "16384K");
      fs.AddFile(cache + "type", "Unified");
    }
  }
  return LoadTree(fs, "twin");
}

TEST(SyntheticTest, AgreesWithATreeOfTheSameShape) {
  for (const auto& [nodes, cores, threads] : {std::tuple(2, 4, 2), std::tuple(1, 3, 1), std::tuple(4, 2, 4)}) {
    const std::string text = "pack:" + std::to_string(nodes) + " numa:1 l3:1 core:" + std::to_string(cores) +
                             " pu:" + std::to_string(threads);
    SCOPED_TRACE(text);
    Result<Machine> synthetic = ParseSynthetic(text);
    Result<Machine> tree = TreeTwin(nodes, cores, threads);
    ASSERT_TRUE(synthetic) << synthetic.error().message;
    ASSERT_TRUE(tree) << tree.error().message;
    synthetic->source = tree->source;
    EXPECT_EQ(*synthetic, *tree);
  }
}

TEST(HwlocXmlTest, ComesBackFromHwlocsOwnExport) {
  hwloc_topology_t topology = nullptr;
  ASSERT_EQ(0, hwloc_topology_init(&topology));
  const char* text = "pack:2 numa:2 l3:2 core:2 pu:2";
  ASSERT_EQ(0, hwloc_topology_set_synthetic(topology, text));
  ASSERT_EQ(0, hwloc_topology_load(topology));
  char* buffer = nullptr;
  int length = 0;
  ASSERT_EQ(0, hwloc_topology_export_xmlbuffer(topology, &buffer, &length, 0));
  const std::string xml(buffer);
  hwloc_free_xmlbuffer(topology, buffer);
  hwloc_topology_destroy(topology);
  Result<Machine> from_xml = ParseHwlocXml(xml, "m.xml");
  Result<Machine> direct = ParseSynthetic(text);
  ASSERT_TRUE(from_xml) << from_xml.error().message;
  ASSERT_TRUE(direct);
  for (NumaNode& node : direct->nodes) node.distances.clear();  // hwloc knows of none
  EXPECT_EQ("m.xml", from_xml->source);
  from_xml->source = direct->source;
  EXPECT_EQ(*direct, *from_xml);
}

/// A topology of a synthetic text, for what its text cannot say.
class Drawn {
 public:
  explicit Drawn(const char* text) {
    EXPECT_EQ(0, hwloc_topology_init(&topology_));
    EXPECT_EQ(0, hwloc_topology_set_synthetic(topology_, text));
    EXPECT_EQ(0, hwloc_topology_load(topology_));
  }
  ~Drawn() { hwloc_topology_destroy(topology_); }
  Drawn(const Drawn&) = delete;
  Drawn& operator=(const Drawn&) = delete;

  hwloc_topology_t topology() { return topology_; }
  /// CPUs from one to another become a kind with one property.
  void AddKind(unsigned from, unsigned to, std::string name, std::string value) {
    const hwloc_bitmap_t cpus = hwloc_bitmap_alloc();
    hwloc_bitmap_set_range(cpus, from, static_cast<int>(to));
    hwloc_info_s info{name.data(), value.data()};
    EXPECT_EQ(0, hwloc_cpukinds_register(topology_, cpus, -1, 1, &info, 0));
    hwloc_bitmap_free(cpus);
  }
  Machine Read(unsigned long flags = 0) {
    char* buffer = nullptr;
    int length = 0;
    EXPECT_EQ(0, hwloc_topology_export_xmlbuffer(topology_, &buffer, &length, flags));
    Result<Machine> machine = ParseHwlocXml(buffer, "m.xml");
    hwloc_free_xmlbuffer(topology_, buffer);
    EXPECT_TRUE(machine) << machine.error().message;
    return machine ? *std::move(machine) : Machine();
  }

 private:
  hwloc_topology_t topology_ = nullptr;
};

TEST(HwlocXmlTest, DistancesWithoutANameAreKeptInBothFormats) {
  for (const unsigned long format : {0UL, 0UL + HWLOC_TOPOLOGY_EXPORT_XML_FLAG_V1}) {
    Drawn drawn("numa:2 core:2 pu:1");
    hwloc_obj_t nodes[] = {hwloc_get_obj_by_type(drawn.topology(), HWLOC_OBJ_NUMANODE, 0),
                           hwloc_get_obj_by_type(drawn.topology(), HWLOC_OBJ_NUMANODE, 1)};
    hwloc_uint64_t values[] = {10, 21, 21, 10};
    const hwloc_distances_add_handle_t matrix = hwloc_distances_add_create(
        drawn.topology(), nullptr, HWLOC_DISTANCES_KIND_FROM_USER | HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0);
    ASSERT_NE(nullptr, matrix);
    ASSERT_EQ(0, hwloc_distances_add_values(drawn.topology(), matrix, 2, nodes, values, 0));
    ASSERT_EQ(0, hwloc_distances_add_commit(drawn.topology(), matrix, 0));
    const Machine machine = drawn.Read(format);
    ASSERT_EQ(2U, machine.nodes.size());
    EXPECT_THAT(machine.nodes[0].distances, testing::ElementsAre(10, 21)) << "format " << format;
    EXPECT_THAT(machine.nodes[1].distances, testing::ElementsAre(21, 10)) << "format " << format;
  }
}

TEST(HwlocXmlTest, CoresOfMuchLowerFrequencyAreEfficiencyCores) {
  Drawn drawn("numa:1 core:4 pu:1");
  drawn.AddKind(0, 1, "FrequencyMaxMHz", "3000");
  drawn.AddKind(2, 3, "FrequencyMaxMHz", "1800");
  const Machine machine = drawn.Read();
  ASSERT_EQ(4U, machine.nodes.at(0).cores.size());
  EXPECT_EQ(CoreKind::kPerformance, machine.nodes[0].cores[0].kind);
  EXPECT_EQ(CoreKind::kEfficiency, machine.nodes[0].cores[3].kind);
}

TEST(HwlocXmlTest, CoresThatAreALittleSlowerAreOfTheSameKind) {
  Drawn drawn("numa:1 core:4 pu:1");
  drawn.AddKind(0, 1, "FrequencyMaxMHz", "5700");
  drawn.AddKind(2, 3, "FrequencyMaxMHz", "5400");
  const Machine machine = drawn.Read();
  for (const Core& core : machine.nodes.at(0).cores) EXPECT_EQ(machine.nodes[0].cores[0].kind, core.kind);
}

TEST(HwlocXmlTest, AFormatOfTheNextVersionIsRefusedWithTheCommandThatHelps) {
  const Result<Machine> machine = ParseHwlocXml(
      R"(<?xml version="1.0"?><!DOCTYPE topology SYSTEM "hwloc3.dtd"><topology version="3.0"><object/></topology>)",
      "m.xml");
  ASSERT_FALSE(machine);
  EXPECT_EQ(Code::kUnsupported, machine.error().code);
  EXPECT_THAT(machine.error().message, HasSubstr("written by hwloc 3"));
  EXPECT_THAT(machine.error().message, HasSubstr("--export-xml-flags V2"));
}

TEST(HwlocXmlTest, RefusesDamageQuietly) {
  testing::internal::CaptureStderr();
  for (const char* xml :
       {"", "<", "not xml", "<topology", "<topology version=\"2.0\"></topology>",
        "<topology version=\"2.0\"><object type=\"Machine\" os_index=\"0\" cpuset=\"0x3\"/></topology>",
        "<topology version=\"2.9\"><object type=\"PU\" os_index=\"x\"/></topology>"}) {
    const Result<Machine> machine = ParseHwlocXml(xml, "bad.xml");
    ASSERT_FALSE(machine) << xml;
    EXPECT_EQ(Code::kInvalid, machine.error().code);
    EXPECT_THAT(machine.error().message, HasSubstr("hwloc XML bad.xml: "));
  }
  EXPECT_EQ("", testing::internal::GetCapturedStderr());
}

TEST(HwlocXmlTest, SurvivesWhatCrashesHwloc) {
  // Without its complete_cpuset an object of this kind makes hwloc 2.9 follow a null pointer.
  const std::string sets = R"( nodeset="0x1" complete_nodeset="0x1" gp_index=")";
  const std::string all = R"( cpuset="0x1" complete_cpuset="0x1")" + sets;
  const std::string xml = R"(<?xml version="1.0"?><topology version="2.0"><object type="Machine" os_index="0")"
                          R"( allowed_cpuset="0x1" allowed_nodeset="0x1")" +
                          all + R"(1"><object type="L3Cache" cpuset="0x1")" + sets +
                          R"(2" cache_size="1" depth="3" cache_linesize="64" cache_associativity="0" cache_type="0">)"
                          R"(<object type="NUMANode" os_index="0")" +
                          all +
                          R"(3" local_memory="1"/>)"
                          R"(<object type="PU" os_index="0")" +
                          all + R"(4"/></object></object></topology>)";
  const Result<Machine> machine = ParseHwlocXml(xml, "bad.xml");
  const std::string message = machine ? "hwloc XML bad.xml: a later hwloc accepts it" : machine.error().message;
  EXPECT_THAT(message, HasSubstr("hwloc XML bad.xml: "));
}

TEST(HwlocXmlTest, RefusesAbsurdIndexes) {
  const Result<Machine> machine = ParseHwlocXml(R"(<topology><object os_index="4000000000"/></topology>)", "bad.xml");
  ASSERT_FALSE(machine);
  EXPECT_THAT(machine.error().message, HasSubstr("an os_index is larger"));
}

TEST(TrialTest, TellsWhoComesBack) {
  EXPECT_TRUE(ComesBack([] { return true; }).value_or(false));
  EXPECT_FALSE(ComesBack([] { return false; }).value_or(true));
  EXPECT_FALSE(ComesBack([]() -> bool { ::_exit(0); }).value_or(true));
  EXPECT_FALSE(ComesBack([] { return ::raise(SIGKILL) == 0; }).value_or(true));
}

TEST(HwlocSourceTest, EnvironmentDoesNotTurnFilesElsewhere) {
  ::setenv("HWLOC_SYNTHETIC", "pu:3", 1);
  const Result<Machine> synthetic = ParseSynthetic("pu:5");
  const Result<Machine> host = HwlocThisHost("host");
  ::unsetenv("HWLOC_SYNTHETIC");
  ASSERT_TRUE(synthetic);
  EXPECT_EQ(5, synthetic->reported_cpus);
  ASSERT_FALSE(host) << "hwloc was told to look elsewhere";
  EXPECT_THAT(host.error().message, HasSubstr("HWLOC_SYNTHETIC"));
}

TEST(DeriveTest, HugePagesAddUpBySize) {
  std::vector<HugePages> totals = {{MiB(2), 1}};
  AddHugePages(totals, {{MiB(1024), 3}, {MiB(2), 4}});
  EXPECT_EQ((std::vector<HugePages>{{MiB(2), 5}, {MiB(1024), 3}}), totals);
}

}  // namespace
}  // namespace berth::machine
