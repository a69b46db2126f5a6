#include "view/map.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/text.h"
#include "view/style.h"

namespace berth::view {
namespace {

/// A regular machine, numbered as Linux does on x86: first threads first, over all cores, then second threads.
struct Shape {
  int sockets = 1;
  int nodes = 1;    ///< per socket
  int l3 = 1;       ///< per node
  int cores = 1;    ///< per L3
  int threads = 1;  ///< per core
  Bytes memory = GiB(64);
};

Machine Build(const Shape& s) {
  Machine m;
  m.source = "synthetic";
  const int per_node = s.l3 * s.cores;
  const int all = s.sockets * s.nodes * per_node;
  int core = 0;
  for (int n = 0; n < s.sockets * s.nodes; ++n) {
    NumaNode node;
    node.id = NumaId{static_cast<std::uint32_t>(n)};
    node.memory = s.memory;
    for (int g = 0; g < s.l3; ++g) {
      L3Group l3{CacheId{static_cast<std::uint32_t>(n * s.l3 + g)}, MiB(32), {}};
      for (int c = 0; c < s.cores; ++c, ++core) {
        Core one;
        one.core_id = static_cast<std::uint32_t>(core);
        one.socket = SocketId{static_cast<std::uint32_t>(n / s.nodes)};
        for (int t = 0; t < s.threads; ++t) {
          const CpuId cpu{static_cast<std::uint32_t>(core + t * all)};
          one.threads.push_back(cpu);
          l3.cpus.Insert(cpu);
        }
        node.cores.push_back(one);
      }
      m.l3.push_back(l3);
    }
    m.nodes.push_back(node);
  }
  m.online = UsableCpus(m);
  m.present = m.online;
  return m;
}

Ledger Empty(const Machine& machine) {
  Ledger ledger;
  ledger.shared = UsableCpus(machine);
  return ledger;
}

/// Admits a pod with one container; empty `cpus` leaves it in the shared pool.
void Place(Ledger& ledger, const std::string& name, const std::string& cpus) {
  PodRecord pod;
  pod.uid = name;
  pod.namespace_ = "default";
  pod.name = name;
  pod.sequence = ledger.next_sequence++;
  Placement p;
  p.container = "app";
  if (!cpus.empty()) p.cpus = *CpuSet::Parse(cpus);
  pod.placements.push_back(p);
  if (p.cpus) ledger.shared -= *p.cpus;
  ledger.pods[name] = pod;
}

void SetMemory(Ledger& ledger, std::uint32_t node, Bytes total, Bytes reserved) {
  MemoryNodeState state;
  state.types["memory"] = {total, GiB(1), total - GiB(1), reserved, total - GiB(1) - reserved};
  ledger.memory[NumaId{node}] = state;
}

std::string ReadText(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Compares with tests/golden/map/<name>.txt; BERTH_UPDATE_GOLDEN=1 rewrites it.
void ExpectGolden(const std::string& name, const std::string& text) {
  const std::string path = std::string(BERTH_SOURCE_DIR) + "/tests/golden/map/" + name + ".txt";
  if (std::getenv("BERTH_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
  EXPECT_EQ(ReadText(path), text) << path;
}

void ExpectFits(const std::string& text, int width) {
  for (const std::string_view line : Split(text, '\n')) EXPECT_LE(DisplayWidth(line), width) << line;
}

TEST(MapTest, ShowsASmallVirtualMachine) {
  const Machine m = Build({.cores = 2, .memory = MiB(24'100)});
  Ledger ledger = Empty(m);
  Place(ledger, "web", "1");
  Place(ledger, "batch", "");
  ExpectGolden("vm2", RenderMap(m, ledger, {CpuId{0}}, {.width = 80}));
}

TEST(MapTest, ShowsTwoSocketsOfFourNodesWithThreads) {
  const Machine m = Build({.sockets = 2, .nodes = 4, .cores = 4, .threads = 2});
  Ledger ledger = Empty(m);
  for (std::uint32_t n = 0; n < 8; ++n) SetMemory(ledger, n, GiB(64), n == 2 ? GiB(40) : Bytes{});
  Place(ledger, "web", "8-11,40-43");
  Place(ledger, "db", "1");
  ledger.pods["db"].placements[0].memory = {{NodeSet{NumaId{2}}, "memory", GiB(40)}};
  Place(ledger, "logger", "");
  ExpectGolden("2s4n4c2t", RenderMap(m, ledger, *CpuSet::Parse("0,32"), {.width = 100}));
}

TEST(MapTest, ShowsAnL3OfSeveralNodesOnceAroundThem) {
  Machine m = Build({.sockets = 2, .nodes = 2, .cores = 2, .threads = 2});
  m.l3 = {{CacheId{0}, MiB(32), *CpuSet::Parse("0-3,8-11")}, {CacheId{1}, MiB(32), *CpuSet::Parse("4-7,12-15")}};
  Ledger ledger = Empty(m);
  Place(ledger, "web", "2,10");
  ExpectGolden("l3-of-two-nodes", RenderMap(m, ledger, {CpuId{0}}, {.width = 80}));
  EXPECT_FALSE(RenderMap(m, ledger, {}, {.width = 80, .lines = 6}).contains("L3")) << "no room for caches";
}

TEST(MapTest, ShowsTwelveCachesOfSixteenCores) {
  const Machine m = Build({.sockets = 1, .nodes = 1, .l3 = 12, .cores = 16, .threads = 2, .memory = GiB(768)});
  Ledger ledger = Empty(m);
  Place(ledger, "vectordb", "16-31,208-223");
  Place(ledger, "cache", "32-35,224-227");
  ExpectGolden("epyc-12l3", RenderMap(m, ledger, *CpuSet::Parse("0-1,192-193"), {.width = 120}));
}

TEST(MapTest, Shows64NodesALineEach) {
  const Machine m = Build({.sockets = 16, .nodes = 4, .cores = 8, .threads = 2, .memory = GiB(32)});
  Ledger ledger = Empty(m);
  Place(ledger, "a", "0-7,512-519");
  Place(ledger, "b", "100");
  const std::string map = RenderMap(m, ledger, {CpuId{8}}, {.width = 100});
  ExpectGolden("64-nodes", map);
}

TEST(MapTest, Compresses4096Cpus) {
  const Machine m = Build({.sockets = 8, .nodes = 4, .l3 = 8, .cores = 8, .threads = 2, .memory = GiB(512)});
  ASSERT_EQ(4096, m.online.Count());
  Ledger ledger = Empty(m);
  Place(ledger, "big", "64-127,2112-2175");
  Place(ledger, "half", "200-203");
  ExpectGolden("4096-cpus", RenderMap(m, ledger, *CpuSet::Parse("0-3"), {.width = 120}));
}

TEST(MapTest, ShowsMemoryOnlyNodesOfflineCpusAndIsolatedOnes) {
  Machine m = Build({.sockets = 2, .nodes = 1, .cores = 4});
  NumaNode far;
  far.id = NumaId{2};
  far.memory = GiB(256);
  far.hugepages = {{MiB(2), 1024}};
  m.nodes.push_back(far);
  m.nodes[1].cores.pop_back();
  m.present = *CpuSet::Parse("0-7");
  m.online = *CpuSet::Parse("0-6");
  m.isolated = *CpuSet::Parse("2-3");
  Ledger ledger = Empty(m);
  ledger.shared.Erase(CpuId{5});
  SetMemory(ledger, 2, GiB(256), GiB(64));
  ledger.memory[NumaId{2}].types["hugepages-2Mi"] = {GiB(2), {}, GiB(2), GiB(1), GiB(1)};
  Place(ledger, "rt", "2-3");
  ExpectGolden("memory-only-offline", RenderMap(m, ledger, {}, {.width = 80}));
}

TEST(MapTest, ShowsHybridCoresApart) {
  Machine m = Build({.cores = 6});
  for (std::size_t i = 0; i < 6; ++i) m.nodes[0].cores[i].kind = i < 2 ? CoreKind::kPerformance : CoreKind::kEfficiency;
  m.nodes[0].cores[0].threads = {CpuId{0}, CpuId{6}};
  m.online.Insert(CpuId{6});
  m.present = m.online;
  ExpectGolden("hybrid", RenderMap(m, Empty(m), {}, {.width = 80}));
}

TEST(MapTest, WritesPlainAsciiAndColours) {
  const Machine m = Build({.sockets = 1, .nodes = 2, .cores = 2, .threads = 2});
  Ledger ledger = Empty(m);
  SetMemory(ledger, 0, GiB(64), GiB(32));
  Place(ledger, "web", "1,5");
  const CpuSet reserved{CpuId{0}};
  ExpectGolden("ascii", RenderMap(m, ledger, reserved, {.width = 80, .unicode = false}));
  ExpectGolden("color", RenderMap(m, ledger, reserved, {.width = 80, .color = true}));
  for (const char c : RenderMap(m, ledger, reserved, {.width = 80, .unicode = false})) EXPECT_LT(c & 0xff, 0x80);
}

TEST(MapTest, SaysWhereTheKernelsMemoryIsNotThatOfTheNodes) {
  Machine m = Build({.cores = 2});
  m.memory = GiB(62);
  EXPECT_TRUE(RenderMap(m, Empty(m), {}, {.width = 80})
                  .contains("\nmemory: 62 GiB (the kernel's MemTotal), 64 GiB on its NUMA nodes\n"));
  m.memory = GiB(64);
  EXPECT_FALSE(RenderMap(m, Empty(m), {}, {.width = 80}).contains("MemTotal"));
}

TEST(MapTest, NeverExceedsTheWidth) {
  Ledger many;
  for (const Shape shape : {Shape{}, Shape{.sockets = 2, .nodes = 4, .cores = 4, .threads = 2},
                            Shape{.l3 = 12, .cores = 16, .threads = 2}, Shape{.sockets = 8, .nodes = 8, .cores = 64}}) {
    const Machine m = Build(shape);
    Ledger ledger = Empty(m);
    for (int i = 0; i < 70 && i < m.online.Count(); ++i)
      Place(ledger, "a-pod-with-quite-a-long-name-" + std::to_string(i), std::to_string(i));
    for (int i = 0; i < 30; ++i) Place(ledger, "shared-" + std::to_string(i), "");
    for (std::uint32_t n = 0; n < m.nodes.size(); ++n) SetMemory(ledger, n, GiB(64), GiB(3));
    for (int width = 40; width <= 200; width += 7)
      ExpectFits(RenderMap(m, ledger, {CpuId{0}}, {.width = width}), width);
  }
}

TEST(MapTest, MarksACpuThatTwoPodsHold) {
  const Machine m = Build({.cores = 2});
  Ledger ledger = Empty(m);
  Place(ledger, "a", "1");
  Place(ledger, "b", "1");
  EXPECT_NE(std::string::npos, RenderMap(m, ledger, {}).find("1 !"));
}

TEST(DescribeCpusTest, SaysWhoHoldsEachCpu) {
  Machine m = Build({.cores = 4});
  m.present.Insert(CpuId{4});
  Ledger ledger = Empty(m);
  Place(ledger, "web", "1");
  ledger.shared.Erase(CpuId{3});
  const auto cpus = DescribeCpus(m, ledger, {CpuId{0}});
  ASSERT_EQ(5U, cpus.size());
  EXPECT_EQ(CpuUse::kReserved, cpus[0].use);
  EXPECT_EQ(CpuUse::kExclusive, cpus[1].use);
  EXPECT_EQ(std::vector<std::string>{"default/web/app"}, cpus[1].holders);
  EXPECT_EQ(CpuUse::kShared, cpus[2].use);
  EXPECT_EQ(CpuUse::kIdle, cpus[3].use);
  EXPECT_EQ(CpuUse::kOffline, cpus[4].use);
}

TEST(DescribeCpusTest, WithoutACpuPolicyEverythingIsShared) {
  const Machine m = Build({.cores = 2});
  for (const CpuState& state : DescribeCpus(m, Ledger{}, {})) EXPECT_EQ(CpuUse::kShared, state.use);
}

}  // namespace
}  // namespace berth::view
