// Our own reading of /sys against hwloc's, on every captured machine and on this host.
#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>
#include <hwloc.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "host/machine/describe.h"
#include "host/machine/hwloc_source.h"
#include "host/machine/load_machine.h"
#include "host/machine/shared_trees_test.h"

namespace berth::machine {
namespace {

/// Files that neither reading opens and that make up most of a tree.
bool IsNoise(std::string_view path) {
  for (const std::string_view part : {"/power/", "/cpufreq/", "/cpuidle/", "/thermal_throttle/", "/microcode/",
                                      "/hotplug/", "/memory/", "/firmware/", "/uevent", "/wakeup", "/msi_irqs/"})
    if (path.find(part) != std::string_view::npos) return true;
  return false;
}

/// Unpacks a tarball into an empty folder. Gives the folder with sys in it; nullopt when that failed.
std::optional<std::filesystem::path> Unpack(const std::string& tarball, const std::string& folder) {
  const std::unique_ptr<archive, int (*)(archive*)> in(archive_read_new(), &archive_read_free);
  archive_read_support_filter_all(in.get());
  archive_read_support_format_tar(in.get());
  if (archive_read_open_filename(in.get(), tarball.c_str(), 65536) != ARCHIVE_OK) return std::nullopt;
  archive_entry* entry = nullptr;
  while (archive_read_next_header(in.get(), &entry) == ARCHIVE_OK) {
    const std::string path = folder + "/" + archive_entry_pathname(entry);
    if (IsNoise(path)) continue;
    archive_entry_set_pathname(entry, path.c_str());
    archive_entry_set_perm(entry, archive_entry_filetype(entry) == AE_IFDIR ? 0755 : 0644);
    archive_read_extract(in.get(), entry, ARCHIVE_EXTRACT_SECURE_SYMLINKS);
  }
  std::error_code error;
  for (const auto& top : std::filesystem::directory_iterator(folder, error))
    if (std::filesystem::exists(top.path() / "sys")) return top.path();
  return std::nullopt;
}

/// hwloc's reading of a tree, through its own XML.
Result<Machine> HwlocReading(const std::filesystem::path& root) {
  ::setenv("HWLOC_FSROOT", root.c_str(), 1);
  ::setenv("HWLOC_COMPONENTS", "linux,stop", 1);
  ::setenv("HWLOC_HIDE_ERRORS", "2", 1);
  hwloc_topology_t topology = nullptr;
  hwloc_topology_init(&topology);
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_ALL);
  const int loaded = hwloc_topology_load(topology);
  ::unsetenv("HWLOC_FSROOT");
  ::unsetenv("HWLOC_COMPONENTS");
  char* xml = nullptr;
  int length = 0;
  Result<Machine> out = Fail(Code::kIo, "hwloc cannot load " + root.string());
  if (loaded == 0 && hwloc_topology_export_xmlbuffer(topology, &xml, &length, 0) == 0) {
    out = ParseHwlocXml(std::string(xml, static_cast<std::size_t>(length)), "hwloc's view");
    hwloc_free_xmlbuffer(topology, xml);
  }
  hwloc_topology_destroy(topology);
  return out;
}

std::map<CpuId, NumaId> NodeOfCpu(const Machine& machine) {
  std::map<CpuId, NumaId> out;
  for (const NumaNode& node : machine.nodes)
    for (const Core& core : node.cores)
      for (const CpuId cpu : core.threads) out[cpu] = node.id;
  return out;
}

using Partition = std::set<std::string>;

Partition Cores(const Machine& machine) {
  Partition out;
  for (const NumaNode& node : machine.nodes) {
    for (const Core& core : node.cores) {
      CpuSet threads;
      for (const CpuId cpu : core.threads) threads.Insert(cpu);
      out.insert(FormatIds(threads));
    }
  }
  return out;
}

Partition Sockets(const Machine& machine) {
  std::map<SocketId, CpuSet> sockets;
  for (const NumaNode& node : machine.nodes)
    for (const Core& core : node.cores)
      for (const CpuId cpu : core.threads) sockets[core.socket].Insert(cpu);
  Partition out;
  for (const auto& [id, cpus] : sockets) out.insert(FormatIds(cpus));
  return out;
}

Partition L3Sets(const Machine& machine) {
  Partition out;
  for (const L3Group& group : machine.l3) out.insert(FormatIds(group.cpus));
  return out;
}

std::set<std::string> Addresses(const Machine& machine) {
  std::set<std::string> out;
  for (const PciDevice& device : machine.pci) out.insert(device.address);
  return out;
}

/// Subjects on which the two readings differ: "cpus", "nodes", "memory", "hugepages", "distances", "homes", "cores",
/// "sockets", "l3", "pci".
std::set<std::string> Differences(const Machine& ours, const Machine& theirs) {
  std::set<std::string> out;
  const auto note = [&](std::string_view subject, bool same) {
    if (!same) out.emplace(subject);
  };
  note("cpus", ours.online == theirs.online && ours.present == theirs.present);
  note("nodes", NodeIds(ours) == NodeIds(theirs));
  note("homes", NodeOfCpu(ours) == NodeOfCpu(theirs));
  note("cores", Cores(ours) == Cores(theirs));
  note("sockets", Sockets(ours) == Sockets(theirs));
  note("l3", L3Sets(ours) == L3Sets(theirs));
  note("pci", std::ranges::includes(Addresses(ours), Addresses(theirs)));
  for (const NumaNode& node : ours.nodes) {
    const auto other = std::ranges::find(theirs.nodes, node.id, &NumaNode::id);
    if (other == theirs.nodes.end()) continue;
    note("memory", node.memory == other->memory);
    note("hugepages", node.hugepages == other->hugepages);
    note("distances", other->distances.empty() || node.distances == other->distances);
  }
  return out;
}

/// Where the two readings differ on purpose. Ours is the kubelet's: threads are one core when core_id and
/// physical_package_id agree, NUMA nodes are the kernel's folders, packages are the nodes of machines without them.
const std::map<std::string, std::set<std::string>>& Known() {
  static const std::map<std::string, std::set<std::string>> known = {
      {"16ia64-8n2s", {"cores"}},  // two CPUs with equal ids whose sibling masks say they are alone
      {"20s390-2g6s4c", {"cores", "hugepages", "memory", "sockets"}},  // no NUMA; packages are -1, books differ
      {"2arm-2c", {"homes", "nodes"}},                                 // no NUMA; the package is number 3
      {"2i386-2c-nohugepage", {"memory"}},                             // no NUMA: a package has no memory of its own
      {"2i386-2t-hugepagesizecount", {"hugepages", "memory"}},
      {"40intel64-4n10c+pci-conflicts", {"l3", "sockets"}},  // masks of CPUs 2 and 3 are damaged in the capture
      {"8em64t-2s2ca2c-buggynuma", {"homes", "nodes"}},      // hwloc distrusts nodes that overlap
      {"8ia64-2n2s2c", {"l3"}},                              // masks of all zeroes: hwloc takes the core
      {"8ia64-2s2c2t", {"l3"}},
      {"fakeheterocpunuma", {"cores", "distances", "homes", "nodes", "sockets"}},  // as above; CPUs 4-7 are on no node
      {"nvidiagpunumanodes", {"distances", "nodes"}},  // hwloc leaves out nodes that are memory of GPUs
  };
  return known;
}

class OracleTest : public testing::TestWithParam<std::string> {};

TEST_P(OracleTest, AgreesWithHwloc) {
  if (std::filesystem::is_directory("/dev/shm")) ::setenv("TMPDIR", "/dev/shm", 0);  // thousands of small files
  const testkit::TempDir folder;
  const auto root = Unpack(GetParam(), folder.path());
  ASSERT_TRUE(root);
  const Result<Machine> ours = Load(GetParam());
  ASSERT_TRUE(ours) << ours.error().message;
  const Result<Machine> theirs = HwlocReading(*root);
  ASSERT_TRUE(theirs) << theirs.error().message;
  const auto known = Known().find(TreeName(GetParam()));
  EXPECT_EQ(known == Known().end() ? std::set<std::string>() : known->second, Differences(*ours, *theirs))
      << "our own reading:\n"
      << Describe(*ours) << "hwloc's:\n"
      << Describe(*theirs);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(OracleTest);
INSTANTIATE_TEST_SUITE_P(Captured, OracleTest, testing::ValuesIn(SharedTrees()), TreeTestName);

TEST(OracleHostTest, AgreesWithHwlocOnThisHost) {
  const Result<Machine> ours = LoadThisHost();
  ASSERT_TRUE(ours) << ours.error().message;
  // What sysfs says, as we read it: hwloc would also ask the CPU itself, which in guests knows caches that sysfs does
  // not.
  ::setenv("HWLOC_COMPONENTS", "linux,stop", 1);
  const Result<Machine> theirs = HwlocThisHost("hwloc's view");
  ::unsetenv("HWLOC_COMPONENTS");
  ASSERT_TRUE(theirs) << theirs.error().message;
  std::set<std::string> differences = Differences(*ours, *theirs);
  differences.erase("memory");  // a node's memory may grow between the two readings
  EXPECT_EQ(std::set<std::string>(), differences);
}

TEST(OracleHostTest, SaysWhenThereAreNoCapturedMachines) {
  if (SharedTrees().empty()) GTEST_SKIP() << "no captured machines beside the checkout (machines/*.tar.bz2)";
}

}  // namespace
}  // namespace berth::machine
