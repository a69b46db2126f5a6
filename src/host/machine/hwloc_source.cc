#include "host/machine/hwloc_source.h"

#include <fmt/core.h>
#include <hwloc.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "host/machine/derive.h"
#include "host/machine/hwloc_text.h"
#include "host/machine/quiet_stderr.h"
#include "host/machine/sources.h"
#include "host/machine/trial.h"

namespace berth::machine {
namespace {

struct TopologyCloser {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, TopologyCloser>;

/// hwloc does not know an index (synthetic caches, old XML): its logical number stands in.
std::uint32_t IndexOf(hwloc_obj_t obj) {
  return obj->os_index == HWLOC_UNKNOWN_INDEX ? obj->logical_index : obj->os_index;
}

/// Reads one loaded topology into a Machine.
class Importer {
 public:
  explicit Importer(hwloc_topology_t topology) : topology_(topology) {}

  Result<Machine> Run() {
    BERTH_RETURN_IF_ERROR(ReadCpus());
    BERTH_RETURN_IF_ERROR(ReadNodes());
    BERTH_RETURN_IF_ERROR(ReadCores());
    ReadL3();
    ReadUncore();
    ReadDistances();
    ReadKinds();
    ReadPci();
    if (Result<void> sound = CheckNodes(machine_.nodes); !sound) return std::unexpected(std::move(sound).error());
    ReadTotals();
    SortViews(machine_);
    return std::move(machine_);
  }

 private:
  /// Errors: kInvalid for ids above kMaxId and for endless sets.
  Result<CpuSet> Cpus(hwloc_const_bitmap_t bitmap) const {
    CpuSet out;
    if (bitmap == nullptr) return out;
    const int last = hwloc_bitmap_last(bitmap);
    if (hwloc_bitmap_weight(bitmap) < 0 || last > static_cast<int>(kMaxId))
      return Fail(Code::kInvalid, "CPU ids above " + std::to_string(kMaxId) + " are not supported");
    for (int id = hwloc_bitmap_first(bitmap); id >= 0; id = hwloc_bitmap_next(bitmap, id))
      out.Insert(CpuId{static_cast<std::uint32_t>(id)});
    return out;
  }
  template <class Visit>
  void EachOf(hwloc_obj_type_t type, Visit visit) const {
    for (hwloc_obj_t obj = nullptr; (obj = hwloc_get_next_obj_by_type(topology_, type, obj)) != nullptr;) visit(obj);
  }
  hwloc_obj_t Above(hwloc_obj_type_t type, hwloc_obj_t obj) const {
    return hwloc_get_ancestor_obj_by_type(topology_, type, obj);
  }

  Result<void> ReadCpus() {
    const hwloc_obj_t root = hwloc_get_root_obj(topology_);
    BERTH_TRY(machine_.present, Cpus(root->complete_cpuset));
    EachOf(HWLOC_OBJ_PU, [&](hwloc_obj_t pu) {
      if (pu->os_index <= kMaxId) machine_.online.Insert(CpuId{pu->os_index});
    });
    if (machine_.online.empty()) return Fail(Code::kNotFound, "it describes no CPU");
    machine_.present |= machine_.online;
    return {};
  }

  Result<void> ReadNodes() {
    Result<void> result;
    EachOf(HWLOC_OBJ_NUMANODE, [&](hwloc_obj_t obj) {
      if (obj->os_index > kMaxId) {
        result = Fail(Code::kInvalid, "NUMA node ids above " + std::to_string(kMaxId) + " are not supported");
        return;
      }
      NumaNode node;
      node.id = NumaId{obj->os_index};
      const auto& attr = obj->attr->numanode;
      node.memory = Amount(attr.local_memory, 1);
      for (unsigned i = 1; attr.page_types != nullptr && i < attr.page_types_len; ++i) {
        const Bytes page = Amount(attr.page_types[i].size, 1);
        if (page.v == 0 || Amount(attr.page_types[i].count, page.v).v == kTooMuch) continue;
        node.hugepages.push_back({page, static_cast<std::int64_t>(attr.page_types[i].count)});
      }
      std::ranges::sort(node.hugepages, {}, [](const HugePages& p) { return std::to_string(p.page_size.v >> 10); });
      machine_.nodes.push_back(std::move(node));
    });
    std::ranges::sort(machine_.nodes, {}, [](const NumaNode& node) { return std::to_string(Raw(node.id)); });
    return result;
  }
  static constexpr std::int64_t kTooMuch = std::numeric_limits<std::int64_t>::max();
  /// amount * unit in bytes, kTooMuch when that does not fit.
  static Bytes Amount(std::uint64_t amount, std::int64_t unit) {
    return {amount > static_cast<std::uint64_t>(kTooMuch / unit) ? kTooMuch : static_cast<std::int64_t>(amount) * unit};
  }

  /// The node whose folder would hold this CPU: the closest one, then the lowest id. (Nodes without CPUs of their own
  /// - device memory, high-bandwidth memory - have the locality of larger or equal parts of the machine.)
  NumaNode* HomeOf(hwloc_obj_t pu) {
    hwloc_obj_t best = nullptr;
    EachOf(HWLOC_OBJ_NUMANODE, [&](hwloc_obj_t obj) {
      if (obj->cpuset == nullptr || !hwloc_bitmap_isset(obj->cpuset, pu->os_index)) return;
      const auto rank = [](hwloc_obj_t o) { return std::pair(hwloc_bitmap_weight(o->cpuset), o->os_index); };
      if (best == nullptr || rank(obj) < rank(best)) best = obj;
    });
    if (best == nullptr) return nullptr;
    return &*std::ranges::find(machine_.nodes, NumaId{best->os_index}, &NumaNode::id);
  }

  Result<void> ReadCores() {
    std::vector<hwloc_obj_t> pus;
    EachOf(HWLOC_OBJ_PU, [&](hwloc_obj_t pu) { pus.push_back(pu); });
    std::ranges::sort(pus, {}, [](hwloc_obj_t pu) { return std::to_string(pu->os_index); });
    std::map<std::pair<NumaNode*, hwloc_obj_t>, std::size_t> known;  // position of the core in its node
    for (const hwloc_obj_t pu : pus) {
      if (pu->os_index > kMaxId)
        return Fail(Code::kInvalid, "CPU ids above " + std::to_string(kMaxId) + " are not supported");
      NumaNode* node = HomeOf(pu);
      if (node == nullptr) continue;  // on no node: nothing can be placed there
      const hwloc_obj_t parent = Above(HWLOC_OBJ_CORE, pu);
      const std::pair<NumaNode*, hwloc_obj_t> owner(node, parent == nullptr ? pu : parent);
      const auto [core, fresh] = known.try_emplace(owner, node->cores.size());
      if (fresh) node->cores.push_back(MakeCore(owner.second));
      node->cores[core->second].threads.push_back(CpuId{pu->os_index});
    }
    return {};
  }
  Core MakeCore(hwloc_obj_t obj) const {
    Core core;
    core.core_id = IndexOf(obj);
    if (const hwloc_obj_t package = Above(HWLOC_OBJ_PACKAGE, obj)) core.socket = SocketId{IndexOf(package)};
    if (const hwloc_obj_t die = Above(HWLOC_OBJ_DIE, obj)) core.die = DieId{IndexOf(die)};
    return core;
  }

  void ReadL3() {
    EachOf(HWLOC_OBJ_L3CACHE, [&](hwloc_obj_t obj) {
      Result<CpuSet> cpus = Cpus(obj->cpuset);
      if (!cpus) return;
      machine_.l3.push_back({CacheId{IndexOf(obj)}, Amount(obj->attr->cache.size, 1), *cpus & machine_.online});
    });
  }

  /// rules/topology#uncore-caches: an L3 that is not exactly a node is an uncore cache of its cores.
  void ReadUncore() {
    for (NumaNode& node : machine_.nodes) {
      for (Core& core : node.cores) {
        const std::size_t node_threads = node.cores.size() * core.threads.size();
        for (const L3Group& group : machine_.l3) {
          if (!group.cpus.Contains(core.threads.front())) continue;
          if (static_cast<std::size_t>(group.cpus.Count()) == node_threads) continue;
          core.uncore.push_back({.id = group.id, .size = group.size, .type = "Unified", .level = 3});
        }
      }
    }
  }

  /// The matrix of latencies between nodes; files of hwloc 1 and some of 2 give it no name. nullptr: none.
  hwloc_distances_s* Latencies() const {
    unsigned count = 1;
    hwloc_distances_s* matrix = nullptr;
    if (hwloc_distances_get_by_name(topology_, "NUMALatency", &count, &matrix, 0) == 0 && count > 0) return matrix;
    count = 1;
    const bool found = hwloc_distances_get_by_type(topology_, HWLOC_OBJ_NUMANODE, &count, &matrix,
                                                   HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) == 0;
    return found && count > 0 ? matrix : nullptr;
  }
  void ReadDistances() {
    hwloc_distances_s* matrix = Latencies();
    if (matrix == nullptr) return;
    std::vector<std::pair<std::uint32_t, unsigned>> order;  // node id, row
    for (unsigned i = 0; i < matrix->nbobjs; ++i)
      if (matrix->objs[i] != nullptr && matrix->objs[i]->type == HWLOC_OBJ_NUMANODE)
        order.emplace_back(matrix->objs[i]->os_index, i);
    std::ranges::sort(order);
    for (NumaNode& node : machine_.nodes) {
      const auto row = std::ranges::find(order, Raw(node.id), &std::pair<std::uint32_t, unsigned>::first);
      if (row == order.end() || order.size() != machine_.nodes.size()) continue;
      for (const auto& [id, column] : order) {
        const std::uint64_t distance = matrix->values[std::size_t{row->second} * matrix->nbobjs + column];
        node.distances.push_back(static_cast<unsigned>(std::min<std::uint64_t>(distance, 0xffffffff)));
      }
    }
    hwloc_distances_release(topology_, matrix);
  }

  struct Kind {
    CpuSet cpus;
    std::string core_type;
    std::int64_t capacity = -1;
    std::int64_t frequency = -1;  // MHz at most
    int efficiency = -1;
  };
  std::vector<Kind> Kinds() const {
    std::vector<Kind> out;
    const int count = hwloc_cpukinds_get_nr(topology_, 0);
    const std::unique_ptr<hwloc_bitmap_s, void (*)(hwloc_bitmap_t)> cpus(hwloc_bitmap_alloc(), &hwloc_bitmap_free);
    for (int i = 0; i < count && cpus != nullptr; ++i) {
      Kind kind;
      unsigned infos = 0;
      hwloc_info_s* info = nullptr;
      if (hwloc_cpukinds_get_info(topology_, static_cast<unsigned>(i), cpus.get(), &kind.efficiency, &infos, &info,
                                  0) != 0)
        continue;
      for (unsigned k = 0; k < infos; ++k) {
        if (std::string_view(info[k].name) == "CoreType") kind.core_type = info[k].value;
        if (std::string_view(info[k].name) == "LinuxCapacity")
          kind.capacity = ParseDecimal<std::int64_t>(info[k].value).value_or(-1);
        if (std::string_view(info[k].name) == "FrequencyMaxMHz")
          kind.frequency = ParseDecimal<std::int64_t>(info[k].value).value_or(-1);
      }
      if (Result<CpuSet> set = Cpus(cpus.get())) kind.cpus = *std::move(set);
      out.push_back(std::move(kind));
    }
    return out;
  }
  /// What the vendor calls it, else the kernel's figure for its strength, else its highest frequency, else hwloc's own
  /// rank. Cores of one kind differ a little in strength and frequency; less than 80 % of the best is another kind.
  static bool IsSmall(const Kind& kind, const Kind& best) {
    if (!kind.core_type.empty()) return kind.core_type == "IntelAtom";
    if (kind.capacity >= 0) return kind.capacity < best.capacity - best.capacity / 5;
    if (kind.frequency >= 0) return kind.frequency < best.frequency - best.frequency / 5;
    return kind.efficiency >= 0 && kind.efficiency < best.efficiency;
  }
  void ReadKinds() {
    const std::vector<Kind> kinds = Kinds();
    Kind best;
    for (const Kind& kind : kinds) {
      best.capacity = std::max(best.capacity, kind.capacity);
      best.frequency = std::max(best.frequency, kind.frequency);
      best.efficiency = std::max(best.efficiency, kind.efficiency);
    }
    CpuSet efficient;
    for (const Kind& kind : kinds)
      if (IsSmall(kind, best)) efficient |= kind.cpus;
    if (efficient.empty()) return;
    for (NumaNode& node : machine_.nodes)
      for (Core& core : node.cores)
        core.kind = efficient.Contains(core.threads.front()) ? CoreKind::kEfficiency : CoreKind::kPerformance;
  }

  static std::string AddressOf(const hwloc_obj_attr_u::hwloc_pcidev_attr_s& pci) {
    return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", static_cast<unsigned>(pci.domain), static_cast<unsigned>(pci.bus),
                       static_cast<unsigned>(pci.dev), static_cast<unsigned>(pci.func));
  }
  /// As sysfs names them, from the root complex down.
  static std::vector<std::string> BridgesAbove(hwloc_obj_t device) {
    std::vector<std::string> out;
    for (hwloc_obj_t up = device->parent; up != nullptr && up->type == HWLOC_OBJ_BRIDGE; up = up->parent) {
      const auto& bridge = up->attr->bridge;
      const bool host = bridge.upstream_type == HWLOC_OBJ_BRIDGE_HOST;
      out.push_back(host ? fmt::format("pci{:04x}:{:02x}", static_cast<unsigned>(bridge.downstream.pci.domain),
                                       static_cast<unsigned>(bridge.downstream.pci.secondary_bus))
                         : AddressOf(bridge.upstream.pci));
    }
    std::ranges::reverse(out);
    return out;
  }
  void ReadPci() {
    EachOf(HWLOC_OBJ_PCI_DEVICE, [&](hwloc_obj_t obj) {
      const auto& pci = obj->attr->pcidev;
      PciDevice device;
      device.address = AddressOf(pci);
      device.class_id = static_cast<std::uint32_t>(pci.class_id) << 8;
      device.vendor = pci.vendor_id;
      device.device = pci.device_id;
      std::vector<std::string> names;
      for (hwloc_obj_t child = obj->io_first_child; child != nullptr; child = child->next_sibling)
        if (child->type == HWLOC_OBJ_OS_DEVICE && child->name != nullptr) names.emplace_back(child->name);
      device.name = Join(names, ",");
      if (const hwloc_obj_t near = hwloc_get_non_io_ancestor_obj(topology_, obj)) {
        if (near->nodeset != nullptr && hwloc_bitmap_weight(near->nodeset) == 1)
          device.node = NumaId{static_cast<std::uint32_t>(hwloc_bitmap_first(near->nodeset))};
        if (Result<CpuSet> cpus = Cpus(near->cpuset)) device.local_cpus = *std::move(cpus) & machine_.online;
      }
      device.above = BridgesAbove(obj);
      machine_.pci.push_back(std::move(device));
    });
  }

  void ReadTotals() {
    machine_.reported_cpus = CountThreads(machine_.nodes);
    machine_.reported_cores = CountPhysicalCores(machine_.nodes);
    machine_.reported_sockets = CountSockets(machine_.nodes);
    for (const NumaNode& node : machine_.nodes) {
      machine_.memory = node.memory.v > kTooMuch - machine_.memory.v ? Bytes{kTooMuch} : machine_.memory + node.memory;
      AddHugePages(machine_.hugepages, node.hugepages);
    }
  }

  hwloc_topology_t topology_;
  Machine machine_;
};

constexpr int kNewestXml = HWLOC_API_VERSION >> 16;

using SetSource = std::function<int(hwloc_topology_t)>;

/// Loads a topology from what `set` chooses (empty: this host). `why` is what to say when hwloc refuses it.
Result<Machine> Import(const SetSource& set, const std::string& why) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return FailErrno("start hwloc", "", errno);
  const Topology topology(raw);
  hwloc_topology_set_flags(raw, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_ALL);
  {
    const QuietStderr quiet;
    if ((set && set(raw) != 0) || hwloc_topology_load(raw) != 0) return Fail(Code::kInvalid, why);
  }
  if (!set && hwloc_topology_is_thissystem(raw) == 0)
    return Fail(Code::kIo, "hwloc looks at another machine (unset HWLOC_FSROOT, HWLOC_XMLFILE and HWLOC_SYNTHETIC)");
  return Importer(raw).Run();
}

/// As Import, for text from strangers: hwloc 2.9 crashes on some damaged XML and leaks when it refuses some, so a child
/// goes first.
Result<Machine> ImportForeign(const SetSource& set, const std::string& why) {
  BERTH_TRY(const bool safe, ComesBack([&] {
              const Result<Machine> machine = Import(set, why);
              return machine || machine.error().message != why;
            }));
  if (!safe) return Fail(Code::kInvalid, why);
  return Import(set, why);
}

std::set<SocketId> SocketsOf(const NumaNode& node) {
  std::set<SocketId> out;
  for (const Core& core : node.cores) out.insert(core.socket);
  return out;
}

/// Those of a usual server with two sockets, where memory without CPUs is as far as another socket: the text cannot say
/// any, and without them nothing that looks at distances could be tried on it.
void AssumeDistances(Machine& machine) {
  constexpr unsigned kOwn = 10;
  constexpr unsigned kInSocket = 12;
  constexpr unsigned kAcross = 32;
  constexpr std::size_t kMostNodes = 256;  // each has a number for each
  if (machine.nodes.size() > kMostNodes) return;
  std::map<NumaId, std::set<SocketId>> sockets;
  for (const NumaNode& node : machine.nodes) sockets[node.id] = SocketsOf(node);
  for (NumaNode& node : machine.nodes)
    for (const auto& [id, others] : sockets) {
      const bool shared =
          std::ranges::any_of(others, [&](SocketId socket) { return sockets[node.id].contains(socket); });
      node.distances.push_back(id == node.id ? kOwn : shared ? kInSocket : kAcross);
    }
}

}  // namespace

Result<Machine> ParseHwlocXml(std::string_view xml, std::string source) {
  const std::string what = "hwloc XML " + source;
  if (xml.size() > os::Fs::kMaxFileSize) return Fail(Code::kInvalid, what + ": too large");
  if (xml.find("<topology") == std::string_view::npos)
    return Fail(Code::kInvalid, what + ": no <topology> element (written with 'lstopo --of xml'?)");
  if (const int version = MajorVersion(xml); version > kNewestXml)
    return Fail(Code::kUnsupported, what + ": written by hwloc " + std::to_string(version) + ", whose format hwloc " +
                                        std::to_string(kNewestXml) + " cannot read; write it with 'lstopo --of xml " +
                                        "--export-xml-flags V2', or with hwloc " + std::to_string(kNewestXml));
  if (HasAbsurdIndex(xml)) return Fail(Code::kInvalid, what + ": an os_index is larger than any machine's");
  const std::string text(xml.substr(0, xml.find('\0')));
  Result<Machine> machine = ImportForeign(
      [&](hwloc_topology_t t) {
        return hwloc_topology_set_xmlbuffer(t, text.c_str(), static_cast<int>(text.size()) + 1);
      },
      "hwloc cannot read it: it is damaged, or describes no CPU");
  if (!machine) return Wrap(std::move(machine).error(), what);
  machine->source = std::move(source);
  return machine;
}

Result<Machine> ParseSynthetic(std::string_view text) {
  const std::string description(Trim(text.substr(0, text.find('\0'))));
  const std::string what = "synthetic machine '" + Printable(description, 200) + "'";
  if (description.empty()) return Fail(Code::kInvalid, "synthetic machine: the text is empty");
  if (CountThreadsOf(description) > kMaxId + 1)
    return Fail(Code::kInvalid, what + ": it has more than " + std::to_string(kMaxId + 1) + " CPUs");
  Result<Machine> machine =
      ImportForeign([&](hwloc_topology_t t) { return hwloc_topology_set_synthetic(t, description.c_str()); },
                    "hwloc does not understand it; levels are written as type:count, outermost first and ending in pu, "
                    "for example 'pack:2 numa:1 l3:2 core:8 pu:2'");
  if (!machine) return Wrap(std::move(machine).error(), what);
  AssumeDistances(*machine);
  machine->source = "synthetic machine '" + description + "'";
  return machine;
}

Result<Machine> HwlocThisHost(std::string source) {
  Result<Machine> machine = Import(nullptr, "hwloc finds no CPU on this host");
  if (!machine) return machine;
  machine->source = std::move(source);
  return machine;
}

}  // namespace berth::machine
