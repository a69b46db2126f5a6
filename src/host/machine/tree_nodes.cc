#include "host/machine/tree_nodes.h"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "host/machine/derive.h"

namespace berth::machine {
namespace {

const std::string kCpuDir = "sys/devices/system/cpu";
const std::string kNodeDir = "sys/devices/system/node";

/// The kernel's -1 ("not known") and other negative ids stand for 0: one socket, one die.
std::uint32_t KnownId(std::int64_t id) {
  if (id < 0 || id > std::numeric_limits<std::int32_t>::max()) return 0;
  return static_cast<std::uint32_t>(id);
}

/// What makes threads of one node threads of one core (rules/topology#threads-of-a-core; book and drawer exist on s390
/// only).
using CoreKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

/// nullopt: core_id or physical_package_id is missing, the kubelet skips such a CPU.
Result<std::optional<CoreKey>> ReadCoreKey(TreeFiles& files, CpuId cpu) {
  BERTH_TRY(const auto core, files.Number(CpuPath(cpu, "topology/core_id")));
  BERTH_TRY(const auto socket, files.Number(CpuPath(cpu, "topology/physical_package_id")));
  if (!core || !socket) return std::nullopt;
  BERTH_TRY(const auto book, files.Number(CpuPath(cpu, "topology/book_id")));
  BERTH_TRY(const auto drawer, files.Number(CpuPath(cpu, "topology/drawer_id")));
  return CoreKey(*core, *socket, book.value_or(0), drawer.value_or(0));
}

/// Groups the online CPUs of a node into cores, in the order of `cpus`.
Result<std::vector<Core>> GroupCores(TreeFiles& files, const std::vector<CpuId>& cpus, const CpuSet& online) {
  std::vector<Core> cores;
  std::map<CoreKey, std::size_t> index;
  for (const CpuId cpu : cpus) {
    if (!online.Contains(cpu)) continue;
    BERTH_TRY(const std::optional<CoreKey> key, ReadCoreKey(files, cpu));
    if (!key) continue;
    const auto [at, fresh] = index.try_emplace(*key, cores.size());
    if (fresh) {
      Core core;
      core.core_id = KnownId(std::get<0>(*key));
      core.socket = SocketId{KnownId(std::get<1>(*key))};
      BERTH_TRY(const auto die, files.Number(CpuPath(cpu, "topology/die_id")));
      core.die = DieId{KnownId(die.value_or(0))};
      cores.push_back(std::move(core));
    }
    cores[at->second].threads.push_back(cpu);
  }
  return cores;
}

/// rules/topology#uncore-caches. The first core whose caches cannot be read ends the walk for the whole node.
void AddUncore(CacheReader& caches, std::vector<Core>& cores) {
  for (Core& core : cores) {
    const auto& list = caches.Complete(core.threads.front());
    if (!list) return;
    const int node_threads = static_cast<int>(cores.size() * core.threads.size());
    for (const CacheInfo& info : *list) {
      if (info.cache.level <= 2 || info.shared.Count() == node_threads) continue;
      if (std::ranges::find(core.uncore, info.cache) == core.uncore.end()) core.uncore.push_back(info.cache);
    }
  }
}

std::vector<CpuId> Ids(const std::vector<Numbered>& entries) {
  std::vector<CpuId> out;
  for (const Numbered& entry : entries) out.push_back(CpuId{entry.id});
  return out;
}

/// Ids as the kubelet meets them: by directory name.
std::vector<CpuId> ByName(const CpuSet& cpus) {
  std::vector<CpuId> out(cpus.begin(), cpus.end());
  std::ranges::sort(out, {}, [](CpuId cpu) { return std::to_string(Raw(cpu)); });
  return out;
}

/// CPUs of one node's folder; `from_links` says whether they come from the kernel's links.
struct NodeCpus {
  std::vector<CpuId> ids;
  bool from_links = true;
};

/// A tree captured without the cpuN links still has the node's cpulist or cpumap, which name the CPUs those links would
/// lead to.
Result<NodeCpus> CpusOfNodeDir(TreeFiles& files, const std::string& dir) {
  BERTH_TRY(const std::vector<Numbered> links, files.NumberedNames(dir, "cpu"));
  if (!links.empty()) return NodeCpus{.ids = Ids(links), .from_links = true};
  BERTH_TRY(std::optional<CpuSet> cpus, files.Cpus(dir + "/cpulist"));
  if (!cpus) {
    BERTH_TRY(cpus, files.CpuMask(dir + "/cpumap"));
  }
  return NodeCpus{.ids = ByName(cpus.value_or(CpuSet())), .from_links = false};
}

/// CPUs of every node. Where masks overlap (they do for memory that several parts of a machine share) a CPU belongs to
/// the smallest node that names it, then to the lowest id.
Result<std::vector<std::vector<CpuId>>> CpusOfNodes(TreeFiles& files, const std::vector<Numbered>& entries) {
  std::vector<NodeCpus> all;
  std::map<CpuId, std::pair<std::size_t, std::uint32_t>> home;  // by masks: size and id of the node
  for (const Numbered& entry : entries) {
    BERTH_TRY(NodeCpus cpus, CpusOfNodeDir(files, kNodeDir + "/" + entry.name));
    const std::pair rank(cpus.ids.size(), entry.id);
    for (const CpuId cpu : cpus.from_links ? std::vector<CpuId>() : cpus.ids) {
      const auto [at, fresh] = home.try_emplace(cpu, rank);
      at->second = std::min(at->second, rank);
    }
    all.push_back(std::move(cpus));
  }
  std::vector<std::vector<CpuId>> out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].from_links) std::erase_if(all[i].ids, [&](CpuId cpu) { return home[cpu].second != entries[i].id; });
    out.push_back(std::move(all[i].ids));
  }
  return out;
}

/// The number before "kB" after "MemTotal:". nullopt: no such line.
std::optional<Bytes> ParseMemTotal(std::string_view text) {
  constexpr std::string_view kKey = "MemTotal:";
  const std::size_t at = text.find(kKey);
  if (at == std::string_view::npos) return std::nullopt;
  text = Trim(text.substr(at + kKey.size()));
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto kib = ParseDecimal<std::int64_t>(text.substr(0, digits));
  if (!kib || *kib > std::numeric_limits<std::int64_t>::max() >> 20) return std::nullopt;
  return KiB(*kib);
}

/// 0 when there is no such file.
Result<Bytes> ReadMemTotal(TreeFiles& files, const std::string& path) {
  BERTH_TRY(const std::optional<std::string> text, files.Text(path));
  if (!text) return Bytes{};
  const std::optional<Bytes> total = ParseMemTotal(*text);
  if (!total) return BadFile(path, "expected a line 'MemTotal: <number> kB'", *text);
  return *total;
}

Result<std::vector<HugePages>> ReadHugePages(TreeFiles& files, const std::string& dir) {
  constexpr std::string_view kPrefix = "hugepages-";
  constexpr std::string_view kUnit = "kB";
  BERTH_TRY(const std::vector<std::string> names, files.Names(dir));
  std::vector<HugePages> out;
  for (const std::string& name : names) {
    std::string_view size = name;
    const bool framed = size.starts_with(kPrefix) && size.ends_with(kUnit);
    if (framed) size = size.substr(kPrefix.size(), size.size() - kPrefix.size() - kUnit.size());
    const auto kib = framed ? ParseDecimal<std::int64_t>(size) : std::nullopt;
    if (!kib || *kib <= 0 || *kib > std::numeric_limits<std::int64_t>::max() >> 20)
      return BadFile(dir, "expected only folders named hugepages-<size>kB", name);
    const std::string file = dir + "/" + name + "/nr_hugepages";
    BERTH_TRY(const auto count, files.Number(file));
    if (!count) return Fail(Code::kInvalid, file + ": missing");
    if (*count < 0 || *count > std::numeric_limits<std::int64_t>::max() / KiB(*kib).v)
      return BadFile(file, "expected a number of pages", std::to_string(*count));
    out.push_back({KiB(*kib), *count});
  }
  return out;
}

Result<std::vector<unsigned>> ReadDistances(TreeFiles& files, const std::string& path) {
  BERTH_TRY(const std::optional<std::string> text, files.Text(path));
  std::vector<unsigned> out;
  if (!text) return out;
  for (const std::string_view word : SplitWords(*text)) {
    const auto distance = ParseDecimal<unsigned>(word);
    if (!distance) return BadFile(path, "expected distances such as '10 21'", *text);
    out.push_back(*distance);
  }
  return out;
}

/// Everything of a node but its cores.
Result<NumaNode> ReadNode(TreeFiles& files, const Numbered& entry) {
  const std::string dir = kNodeDir + "/" + entry.name;
  NumaNode node;
  node.id = NumaId{entry.id};
  BERTH_TRY(node.memory, ReadMemTotal(files, dir + "/meminfo"));
  BERTH_TRY(node.hugepages, ReadHugePages(files, dir + "/hugepages"));
  BERTH_TRY(node.distances, ReadDistances(files, dir + "/distance"));
  return node;
}

/// rules/topology#discovery without NUMA: every package is a node. Its id is the package's unless one of them is no
/// possible node id (s390 says -1): then packages are numbered in their order.
Result<std::vector<NumaNode>> PackagesAsNodes(TreeFiles& files, CacheReader& caches, const CpuSet& online) {
  BERTH_TRY(const std::vector<Numbered> entries, files.NumberedNames(kCpuDir, "cpu"));
  std::map<std::int64_t, std::vector<CpuId>> packages;
  for (const Numbered& entry : entries) {
    BERTH_TRY(const auto package, files.Number(CpuPath(CpuId{entry.id}, "topology/physical_package_id")));
    if (package) packages[*package].push_back(CpuId{entry.id});
  }
  const bool possible = packages.empty() || (packages.begin()->first >= 0 && packages.rbegin()->first <= kMaxId);
  std::vector<NumaNode> nodes;
  for (const auto& [package, cpus] : packages) {
    NumaNode node;
    node.id = NumaId{static_cast<std::uint32_t>(possible ? package : static_cast<std::int64_t>(nodes.size()))};
    BERTH_TRY(node.cores, GroupCores(files, cpus, online));
    AddUncore(caches, node.cores);
    nodes.push_back(std::move(node));
  }
  return nodes;
}

/// One core of `cpu` and those of its thread siblings that are in `left`, which are taken out of it.
Result<Core> CoreFromSiblings(TreeFiles& files, CpuId cpu, CpuSet& left) {
  BERTH_TRY(auto siblings, files.Cpus(CpuPath(cpu, "topology/thread_siblings_list")));
  BERTH_TRY(const auto socket, files.Number(CpuPath(cpu, "topology/physical_package_id")));
  CpuSet threads = std::move(siblings).value_or(CpuSet()) & left;
  threads.Insert(cpu);
  left -= threads;
  Core core;
  core.core_id = Raw(*threads.First());
  core.socket = SocketId{KnownId(socket.value_or(0))};
  core.threads = ByName(threads);
  return core;
}

/// Where the kubelet finds no CPU at all because the files that group them are missing: one core per set of thread
/// siblings, on the node that names the CPU. `cpus` is parallel to `nodes`; if no node names any CPU, the first node
/// (made here if there is none) has all.
Result<void> CoresFromSiblings(TreeFiles& files, const CpuSet& online, std::vector<std::vector<CpuId>> cpus,
                               std::vector<NumaNode>& nodes) {
  if (nodes.empty()) nodes.emplace_back();
  cpus.resize(nodes.size());
  if (std::ranges::all_of(cpus, &std::vector<CpuId>::empty)) cpus.front() = ByName(online);
  CpuSet left = online;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const CpuId cpu : cpus[i]) {
      if (!left.Contains(cpu)) continue;
      BERTH_TRY(Core core, CoreFromSiblings(files, cpu, left));
      nodes[i].cores.push_back(std::move(core));
    }
  }
  return {};
}

/// Distinct numbers after "<key> :" in /proc/cpuinfo.
int CountDistinct(std::string_view cpuinfo, std::string_view key) {
  std::set<std::uint64_t> seen;
  for (std::string_view line : Split(cpuinfo, '\n')) {
    if (!line.starts_with(key)) continue;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !Trim(line.substr(key.size(), colon - key.size())).empty()) continue;
    if (const auto id = ParseDecimal<std::uint64_t>(Trim(line.substr(colon + 1)))) seen.insert(*id);
  }
  return static_cast<int>(seen.size());
}

Result<int> ReadSocketCount(TreeFiles& files, const CpuSet& online) {
  BERTH_TRY(const std::optional<std::string> cpuinfo, files.Text("proc/cpuinfo"));
  if (const int sockets = CountDistinct(cpuinfo.value_or(""), "physical id"); sockets > 0) return sockets;
  std::set<std::int64_t> seen;
  for (const CpuId cpu : online) {
    const auto package = files.Number(CpuPath(cpu, "topology/physical_package_id"));
    seen.insert(package && *package ? **package : 0);
  }
  return static_cast<int>(seen.size());
}

/// Nodes that are there already give what the machine's own files do not say.
Result<void> ReadMemoryTotals(TreeFiles& files, Machine& machine) {
  BERTH_TRY(machine.memory, ReadMemTotal(files, "proc/meminfo"));
  BERTH_TRY(machine.hugepages, ReadHugePages(files, "sys/kernel/mm/hugepages"));
  const bool sum_memory = machine.memory.v == 0;
  const bool sum_pages = machine.hugepages.empty();
  for (const NumaNode& node : machine.nodes) {
    if (sum_memory && node.memory.v > std::numeric_limits<std::int64_t>::max() - machine.memory.v)
      return Fail(Code::kInvalid, kNodeDir + ": the sum of the nodes' memory is too large");
    if (sum_memory) machine.memory += node.memory;
    if (sum_pages) AddHugePages(machine.hugepages, node.hugepages);
  }
  return {};
}

Result<void> ReadTotals(TreeFiles& files, bool has_numa, Machine& machine) {
  machine.reported_cores = CountPhysicalCores(machine.nodes);
  machine.reported_cpus = CountThreads(machine.nodes);
  if (!has_numa) {
    BERTH_TRY(const std::vector<Numbered> cpus, files.NumberedNames(kCpuDir, "cpu"));
    machine.reported_cpus = static_cast<int>(cpus.size());
  }
  BERTH_TRY(machine.reported_sockets, ReadSocketCount(files, machine.online));
  return ReadMemoryTotals(files, machine);
}

}  // namespace

std::string CpuPath(CpuId cpu, std::string_view file) {
  return kCpuDir + "/cpu" + std::to_string(Raw(cpu)) + "/" + std::string(file);
}

std::optional<Bytes> ParseCacheSize(std::string_view text) {
  int shift = 0;
  if (text.ends_with('K')) shift = 10;
  if (text.ends_with('M')) shift = 20;
  if (shift != 0) text.remove_suffix(1);
  const auto number = ParseDecimal<std::int64_t>(text);
  if (!number || *number < 0 || *number > std::numeric_limits<std::int64_t>::max() >> 20) return std::nullopt;
  return Bytes{*number << shift};
}

const std::optional<std::vector<CacheInfo>>& CacheReader::Complete(CpuId cpu) {
  const auto [at, fresh] = cache_.try_emplace(cpu);
  if (fresh) at->second = Read(cpu);
  return at->second;
}

std::optional<std::vector<CacheInfo>> CacheReader::Read(CpuId cpu) {
  const std::string dir = CpuPath(cpu, "cache");
  const auto indexes = files_->NumberedNames(dir, "index");
  if (!indexes || indexes->empty()) return std::nullopt;
  std::vector<CacheInfo> out;
  for (const Numbered& index : *indexes) {
    const std::string at = dir + "/" + index.name + "/";
    const auto id = files_->Number(at + "id");
    const auto level = files_->Number(at + "level");
    const auto size = files_->Text(at + "size");
    const auto type = files_->Text(at + "type");
    auto shared = files_->CpuMask(at + "shared_cpu_map");
    if (!id || !*id || !level || !*level || !size || !*size || !type || !*type || !shared || !*shared)
      return std::nullopt;
    const auto bytes = ParseCacheSize(**size);
    if (!bytes || **id < 0 || **id > std::numeric_limits<std::uint32_t>::max() || **level < 0 || **level > 9)
      return std::nullopt;
    out.push_back({{CacheId{static_cast<std::uint32_t>(**id)}, *bytes, **type, static_cast<int>(**level)}, **shared});
  }
  return out;
}

Result<void> ReadMemory(TreeFiles& files, Machine& machine) {
  BERTH_TRY(const std::vector<Numbered> entries, files.NumberedNames(kNodeDir, "node"));
  for (const Numbered& entry : entries) {
    BERTH_TRY(NumaNode node, ReadNode(files, entry));
    machine.nodes.push_back(std::move(node));
  }
  return ReadMemoryTotals(files, machine);
}

Result<void> ReadNodes(TreeFiles& files, CacheReader& caches, Machine& machine) {
  BERTH_TRY(const std::vector<Numbered> entries, files.NumberedNames(kNodeDir, "node"));
  BERTH_TRY(std::vector<std::vector<CpuId>> cpus, CpusOfNodes(files, entries));
  for (std::size_t i = 0; i < entries.size(); ++i) {
    BERTH_TRY(NumaNode node, ReadNode(files, entries[i]));
    BERTH_TRY(node.cores, GroupCores(files, cpus[i], machine.online));
    AddUncore(caches, node.cores);
    machine.nodes.push_back(std::move(node));
  }
  bool has_numa = !entries.empty();
  if (!has_numa) {
    BERTH_TRY(machine.nodes, PackagesAsNodes(files, caches, machine.online));
  }
  if (CountThreads(machine.nodes) == 0) {
    BERTH_RETURN_IF_ERROR(CoresFromSiblings(files, machine.online, std::move(cpus), machine.nodes));
    has_numa = true;  // the count is that of the cores made here
  }
  BERTH_RETURN_IF_ERROR(CheckNodes(machine.nodes));
  return ReadTotals(files, has_numa, machine);
}

}  // namespace berth::machine
