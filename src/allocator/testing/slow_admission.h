// A slow second reading of the rules of admission: requests of containers and pods, hints of all managers, the merge,
// the order of allocation, reuse from init containers. Only the choice among single CPUs is the engine's own (it has a
// twin in take_twin_test.cc). Everything starts from a ledger as it is, so releases are not read here. Section numbers
// are those of the spec (cpu-topology-memory, unless said otherwise). Never part of a library.
#ifndef BERTH_ALLOCATOR_TESTING_SLOW_ADMISSION_H_
#define BERTH_ALLOCATOR_TESTING_SLOW_ADMISSION_H_

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "allocator/cpu_selection/take.h"
#include "allocator/engine.h"
#include "allocator/node/node_tables.h"
#include "allocator/testing/slow_merge.h"
#include "model/kubelet_rules.h"

namespace berth::allocator::testing {

/// What one container asks for.
struct Asked {
  std::string name;
  ContainerKind kind = ContainerKind::kApp;
  int cpus = 0;
  std::map<std::string, std::int64_t> memory;
  std::map<std::string, std::int64_t> devices;
};

struct SlowNodeMemory {
  int assignments = 0;
  Ids cells;
  std::map<std::string, std::int64_t> allocatable, free, reserved;
};

/// What one container was given, as text.
using Given = std::map<std::string, std::string>;

class SlowAdmission {
 public:
  SlowAdmission(const Node& node, const Ledger& ledger, const Pod& pod, const Inputs& inputs)
      : node_(node), machine_(node.machine()), config_(node.config()), pod_(pod), inputs_(inputs) {
    shared_ = ledger.shared;
    for (const NumaNode& n : machine_.nodes) {
      all_.insert(Raw(n.id));
      if (!CpusOf({Raw(n.id)}).empty()) with_cpus_.insert(Raw(n.id));
    }
    for (const auto& [id, state] : ledger.memory) {
      SlowNodeMemory& mine = memory_[Raw(id)];
      mine.assignments = state.assignments;
      mine.cells = ToIds(state.cells);
      for (const auto& [type, table] : state.types) {
        mine.allocatable[type] = table.allocatable.v;
        mine.free[type] = table.free.v;
        mine.reserved[type] = table.reserved.v;
      }
    }
    for (const auto& [uid, record] : ledger.pods)
      for (const Placement& p : record.placements)
        for (const DeviceAssignment& d : p.devices) taken_[d.resource].insert(d.ids.begin(), d.ids.end());
    ReadRequests();
  }

  /// "" when all containers were placed, else "reason: message".
  std::string Run() {
    if (config_.topology_manager_policy == "none") {
      for (const Asked& c : asked_)
        if (!Allocate(c, {true, {}, false})) return error_;
      return "";
    }
    if (config_.topology_manager_scope == "pod") {
      const SlowHint hint = Merge(Lists(pod_cpus_, pod_memory_, pod_devices_, false));
      if (!admitted_) return kMisaligned;
      for (const Asked& c : asked_)
        if (given_[c.name]["hint"] = HintText(hint); !Allocate(c, hint)) return error_;
      return "";
    }
    for (const Asked& c : asked_) {
      const SlowHint hint = Merge(Lists(c.cpus, c.memory, c.devices, true));
      if (!admitted_) return kMisaligned;
      if (given_[c.name]["hint"] = HintText(hint); !Allocate(c, hint)) return error_;
    }
    return "";
  }

  /// Whether some choice among the preferred sets of nodes places all containers, one after another: every one is
  /// tried.
  bool SomeChoiceFits() const { return FitsFrom(0); }

  const std::map<std::string, Given>& given() const { return given_; }
  const CpuSet& shared() const { return shared_; }
  const std::map<unsigned, SlowNodeMemory>& memory() const { return memory_; }

  static std::string HintText(const SlowHint& hint) {
    return (hint.any ? "any" : Text(hint.nodes)) + (hint.preferred ? " preferred" : "");
  }

 private:
  static constexpr const char* kMisaligned =
      "TopologyAffinityError: Resources cannot be allocated with Topology locality";

  bool Option(const char* name) const {
    const auto it = config_.cpu_manager_policy_options.find(name);
    return it != config_.cpu_manager_policy_options.end() && it->second == "true";
  }
  CpuSet CpusOf(const Ids& nodes) const {
    CpuSet out;
    for (const NumaNode& n : machine_.nodes)
      if (nodes.contains(Raw(n.id)))
        for (const Core& core : n.cores)
          for (CpuId cpu : core.threads) out.Insert(cpu);
    return out;
  }
  std::set<SocketId> SocketsOf(const CpuSet& cpus) const {
    std::set<SocketId> out;
    for (const NumaNode& n : machine_.nodes)
      for (const Core& core : n.cores)
        for (CpuId cpu : core.threads)
          if (cpus.Contains(cpu)) out.insert(core.socket);
    return out;
  }
  CpuSet CpusOfSockets(const std::set<SocketId>& sockets) const {
    CpuSet out;
    for (const NumaNode& n : machine_.nodes)
      for (const Core& core : n.cores)
        for (CpuId cpu : core.threads)
          if (sockets.contains(core.socket)) out.Insert(cpu);
    return out;
  }

  // ---- requests: 2.5 to 2.7, 4.4 ----

  bool Guaranteed() const {
    if (pod_.status_qos) return *pod_.status_qos == QosClass::kGuaranteed;
    std::vector<Resources> parts;
    if (pod_.resources) parts.push_back(*pod_.resources);
    if (!pod_.resources)
      ForEachContainer(pod_, [&](const Container& c, ContainerKind) { parts.push_back(c.resources); });
    for (const char* resource : {"cpu", "memory"}) {
      Quantity requests;
      Quantity limits;
      for (const Resources& part : parts) {
        const auto request = part.requests.find(resource);
        const auto limit = part.limits.find(resource);
        if (limit == part.limits.end() || limit->second.Sign() <= 0) return false;
        limits += limit->second;
        if (request != part.requests.end() && request->second.Sign() > 0) requests += request->second;
      }
      if (requests != limits) return false;
    }
    return !parts.empty();
  }
  bool PodLevel() const {
    if (!pod_.resources) return false;
    for (const ResourceList* list : {&pod_.resources->requests, &pod_.resources->limits})
      for (const auto& [name, amount] : *list)
        if (name == "cpu" || name == "memory" || name.starts_with("hugepages-")) return true;
    return false;
  }

  void ReadRequests() {
    const bool managed = Guaranteed() && !PodLevel();
    ForEachContainer(pod_, [&](const Container& c, ContainerKind kind) {
      Asked& out = asked_.emplace_back();
      out.name = c.name;
      out.kind = kind;
      for (const auto& [name, amount] : c.resources.requests) {
        if (managed && name == "cpu" && config_.cpu_manager_policy == "static" && amount.MilliValue() % 1000 == 0)
          out.cpus = static_cast<int>(amount.MilliValue() / 1000);
        if (managed && (name == "memory" || name.starts_with("hugepages-")) &&
            config_.memory_manager_policy == "Static")
          out.memory[name] = amount.Value();
      }
      for (const auto& [name, amount] : c.resources.limits)
        if (Known(name)) out.devices[name] = amount.Value();
    });
    int init = 0, sidecars = 0, apps = 0;
    for (const Asked& c : asked_) {
      if (c.kind == ContainerKind::kSidecar) sidecars += c.cpus;
      if (c.kind == ContainerKind::kInit) init = std::max(init, sidecars + c.cpus);
      if (c.kind == ContainerKind::kApp) apps += c.cpus;
    }
    pod_cpus_ = std::max(init, apps + sidecars);
    pod_memory_ = Sum(&Asked::memory, true);
    pod_devices_ = Sum(&Asked::devices, false);
  }

  /// Of the whole pod. `apps_only`: a type that no app container asks for is left out.
  std::map<std::string, std::int64_t> Sum(std::map<std::string, std::int64_t> Asked::* what, bool apps_only) const {
    std::set<std::string> types;
    for (const Asked& c : asked_)
      for (const auto& [type, amount] : c.*what)
        if (!apps_only || c.kind == ContainerKind::kApp) types.insert(type);
    std::map<std::string, std::int64_t> out;
    for (const std::string& type : types) {
      std::int64_t init = 0, sidecars = 0, apps = 0;
      for (const Asked& c : asked_) {
        const auto it = (c.*what).find(type);
        const std::int64_t amount = it == (c.*what).end() ? 0 : it->second;
        if (c.kind == ContainerKind::kSidecar) sidecars += amount;
        if (c.kind == ContainerKind::kInit) init = std::max(init, sidecars + amount);
        if (c.kind == ContainerKind::kApp) apps += amount;
      }
      out[type] = std::max(init, apps + sidecars);
    }
    return out;
  }

  // ---- hints: 2.16, 4.5, devices-cgroups 4.5 ----

  SlowLists Lists(int cpus, const std::map<std::string, std::int64_t>& memory,
                  const std::map<std::string, std::int64_t>& devices, bool reuse) const {
    SlowLists out;
    for (const auto& [resource, count] : devices) out.push_back(DeviceList(resource, count, reuse));
    if (cpus > 0) out.push_back(CpuList(cpus));
    if (const SlowList list = MemoryList(memory); !memory.empty() && !list.empty())
      out.insert(out.end(), memory.size(), list);
    return out;
  }

  SlowList CpuList(int cpus) const {
    std::size_t narrowest = with_cpus_.size();
    std::vector<Ids> fitting;
    for (const Ids& set : Subsets(with_cpus_)) {
      const CpuSet here = CpusOf(set);
      if (here.Count() >= cpus) narrowest = std::min(narrowest, set.size());
      if (!cpu_reuse_.IsSubsetOf(here)) continue;
      const CpuSet free = (shared_ - node_.reserved_cpus()) & here;
      if (cpu_reuse_.Count() + free.Count() >= cpus) fitting.push_back(set);
    }
    SlowList out;
    for (const Ids& set : fitting) {
      bool preferred = set.size() == narrowest;
      const int per_socket = static_cast<int>(with_cpus_.size()) / machine_.reported_sockets;
      if (Option("align-by-socket") && per_socket > 0) {
        const int sockets = static_cast<int>(SocketsOf(CpusOf(set)).size());
        const int least = static_cast<int>(narrowest);
        preferred = preferred || sockets == least / per_socket + (least % per_socket != 0 ? 1 : 0);
      }
      out.push_back({false, set, preferred});
    }
    return out;
  }

  static std::int64_t At(const std::map<std::string, std::int64_t>& map, const std::string& key) {
    const auto it = map.find(key);
    return it == map.end() ? 0 : it->second;
  }
  bool Enough(const Ids& set, const std::map<std::string, std::int64_t>& needs,
              std::map<std::string, std::int64_t> SlowNodeMemory::* what, bool reuse) const {
    for (const auto& [type, need] : needs) {
      std::int64_t sum = reuse ? Reusable(set, type) : 0;
      for (unsigned id : set)
        if (const auto known = memory_.find(id); known != memory_.end()) sum += At(known->second.*what, type);
      if (sum < need) return false;
    }
    return true;
  }
  std::int64_t Reusable(const Ids& set, const std::string& type) const {
    const auto it = memory_reuse_.find({set, type});
    return it == memory_reuse_.end() ? 0 : it->second;
  }
  bool Violates(const Ids& set) const {
    if (set.size() < 2) return false;
    return std::any_of(set.begin(), set.end(), [&](unsigned id) {
      const SlowNodeMemory& m = memory_.find(id)->second;
      return m.assignments > 0 && (m.cells.size() == 1 || m.cells != set);
    });
  }
  SlowList MemoryList(const std::map<std::string, std::int64_t>& needs) const {
    if (needs.empty()) return {};
    std::size_t narrowest = all_.size();
    std::vector<Ids> fitting;
    for (const Ids& set : Subsets(all_)) {
      if (!Enough(set, needs, &SlowNodeMemory::allocatable, false)) continue;
      narrowest = std::min(narrowest, set.size());
      if (set.size() == 1 && memory_.find(*set.begin())->second.cells.size() > 1) continue;
      if (Violates(set)) continue;
      if (Enough(set, needs, &SlowNodeMemory::free, true)) fitting.push_back(set);
    }
    SlowList out;
    for (const Ids& set : fitting) out.push_back({false, set, set.size() == narrowest});
    return out;
  }

  bool Known(const std::string& resource) const {
    return resource.contains('/') && (inputs_.devices.contains(resource) || taken_.contains(resource));
  }
  std::vector<Device> DevicesOf(const std::string& resource) const {
    const auto it = inputs_.devices.find(resource);
    std::vector<Device> out = it == inputs_.devices.end() ? std::vector<Device>() : it->second;
    std::ranges::sort(out, {}, &Device::id);
    return out;
  }
  bool Free(const std::string& resource, const Device& device) const {
    const auto it = taken_.find(resource);
    return device.healthy && (it == taken_.end() || !it->second.contains(device.id));
  }
  bool Left(const std::string& resource, const Device& device) const {
    const auto it = device_reuse_.find(resource);
    return it != device_reuse_.end() && it->second.contains(device.id);
  }
  SlowList DeviceList(const std::string& resource, std::int64_t count, bool reuse) const {
    const std::vector<Device> devices = DevicesOf(resource);
    Ids hosts;
    std::int64_t usable = 0;
    for (const Device& d : devices) {
      for (NumaId id : d.nodes) hosts.insert(Raw(id));
      usable += Free(resource, d) || (reuse && Left(resource, d)) ? 1 : 0;
    }
    if (hosts.empty()) return kNoPreference;
    if (usable < count) return {};
    std::size_t narrowest = all_.size();
    std::vector<Ids> fitting;
    for (const Ids& set : Subsets(hosts)) {
      std::int64_t there = 0, matching = 0;
      bool outside = false;
      for (const Device& d : devices) {
        const bool touches = Meets(ToIds(d.nodes), set);
        there += touches ? 1 : 0;
        if (reuse && Left(resource, d) && !d.nodes.empty()) outside = outside || !touches, ++matching;
        if (Free(resource, d) && touches) ++matching;
      }
      if (there >= count) narrowest = std::min(narrowest, set.size());
      if (!outside && matching >= count) fitting.push_back(set);
    }
    SlowList out;
    for (const Ids& set : fitting) out.push_back({false, set, set.size() == narrowest});
    return out;
  }

  bool FitsFrom(std::size_t at) const {
    if (at == asked_.size()) return true;
    const Asked& c = asked_[at];
    SlowMerge merge(machine_, config_);
    const SlowHint best = merge.Merge(Lists(c.cpus, c.memory, c.devices, true));
    if (!merge.admitted()) return false;
    for (const Ids& nodes : merge.preferred()) {
      SlowAdmission next(*this);
      const bool any = best.any && nodes == best.nodes;
      if (next.Allocate(c, {any, nodes, true}) && next.FitsFrom(at + 1)) return true;
    }
    return false;
  }

  SlowHint Merge(SlowLists lists) {
    SlowMerge merge(machine_, config_);
    const SlowHint out = merge.Merge(std::move(lists));
    admitted_ = merge.admitted();
    return out;
  }

  // ---- allocation ----

  bool Allocate(const Asked& c, const SlowHint& hint) {
    return AllocateDevices(c, hint) && AllocateCpus(c, hint) && AllocateMemory(c, hint);
  }
  bool Fail(const std::string& why) {
    error_ = "UnexpectedAdmissionError: Allocate failed due to " + why + ", which is unexpected";
    return false;
  }

  /// Devices-cgroups 4.4.
  bool AllocateDevices(const Asked& c, const SlowHint& hint) {
    std::map<std::string, std::set<std::string>> got;
    for (const auto& [resource, count] : c.devices) {
      const std::vector<Device> devices = DevicesOf(resource);
      if (!inputs_.devices.contains(resource)) return Fail("cannot allocate unregistered device " + resource);
      if (std::ranges::none_of(devices, &Device::healthy))
        return Fail("no healthy devices present; cannot allocate unhealthy devices " + resource);
      std::set<std::string>& mine = got[resource];
      for (const std::string& id : device_reuse_[resource])
        if (static_cast<std::int64_t>(mine.size()) < count) mine.insert(id);
      const std::int64_t needed = count - static_cast<std::int64_t>(mine.size());
      if (needed == 0) continue;
      std::vector<std::vector<std::string>> groups(3);
      std::int64_t available = 0;
      for (const Device& d : devices) {
        if (!Free(resource, d)) continue;
        ++available;
        groups[hint.any || d.nodes.empty() ? 2U : Meets(ToIds(d.nodes), hint.nodes) ? 0U : 1U].push_back(d.id);
      }
      if (available < needed)
        return Fail("requested number of devices unavailable for " + resource +
                    ". Requested: " + std::to_string(needed) + ", Available: " + std::to_string(available));
      const auto take = [&](const std::string& id) {
        if (static_cast<std::int64_t>(mine.size()) < count) mine.insert(id);
      };
      // The plugin chooses among the aligned ones if they are enough, else among all once the aligned ones are taken.
      const bool enough_aligned = needed < static_cast<std::int64_t>(groups[0].size());
      if (!enough_aligned) std::ranges::for_each(groups[0], take);
      if (const auto answer = inputs_.preferred_devices.find(resource); answer != inputs_.preferred_devices.end())
        for (const std::string& id : answer->second)
          for (std::size_t group = 0; group < (enough_aligned ? 1U : 3U); ++group)
            if (std::ranges::find(groups[group], id) != groups[group].end()) take(id);
      for (const auto& group : groups) std::ranges::for_each(group, take);
      taken_[resource].insert(mine.begin(), mine.end());
    }
    for (const auto& [resource, ids] : got) {
      for (const std::string& id : ids) {
        given_[c.name][resource] += id + " ";
        if (c.kind == ContainerKind::kInit) device_reuse_[resource].insert(id);
        if (c.kind != ContainerKind::kInit) device_reuse_[resource].erase(id);
      }
    }
    return true;
  }

  /// 2.8 to 2.10.
  bool AllocateCpus(const Asked& c, const SlowHint& hint) {
    if (c.cpus == 0) return true;
    const CpuTopology& topology = node_.tables().topology;
    const int per_core = machine_.reported_cpus / machine_.reported_cores;
    if (Option("full-pcpus-only")) {
      CpuSet usable = shared_;
      for (const NumaNode& n : machine_.nodes)
        for (const Core& core : n.cores)
          if (std::ranges::any_of(core.threads, [&](CpuId cpu) { return node_.reserved_cpus().Contains(cpu); }))
            for (CpuId cpu : core.threads) usable.Erase(cpu);
      error_ = "SMTAlignmentError: SMT Alignment Error: ";
      if (c.cpus % per_core != 0) {
        error_ +=
            "requested " + std::to_string(c.cpus) + " cpus not multiple cpus per core = " + std::to_string(per_core);
        return false;
      }
      if (c.cpus > usable.Count()) {
        error_ += "not enough free physical CPUs: available physical CPUs = " + std::to_string(usable.Count()) +
                  ", requested CPUs = " + std::to_string(c.cpus) + ", CPUs per core = " + std::to_string(per_core);
        return false;
      }
    }
    TakeRequest take;
    take.distributed = Option("distribute-cpus-across-numa");
    take.group = Option("full-pcpus-only") ? per_core : 1;
    take.uncore = Option("prefer-align-cpus-by-uncorecache");
    take.spread = Option("distribute-cpus-across-cores");
    take.by_socket = Option("align-by-socket");
    take.rules = KubeletRulesOf(node_.options().kubelet_version);
    const CpuSet allocatable = (shared_ - node_.reserved_cpus()) | cpu_reuse_;
    CpuSet got;
    if (!hint.any) {
      CpuSet near = CpusOf(hint.nodes);
      if (Option("align-by-socket")) near = CpusOfSockets(SocketsOf(near));
      take.available = near & allocatable;
      take.num = std::min(c.cpus, take.available.Count());
      take.hinted_nodes = static_cast<int>(hint.nodes.size());
      const auto part = TakeCpus(topology, take);
      if (!part) return Fail(part.error().message);
      got = *part;
    }
    take.available = allocatable - got;
    take.num = c.cpus - got.Count();
    take.hinted_nodes = 0;
    const auto rest = TakeCpus(topology, take);
    if (!rest) return Fail(rest.error().message);
    got |= *rest;
    shared_ -= got;
    if (c.kind == ContainerKind::kInit) cpu_reuse_ |= got;
    if (c.kind != ContainerKind::kInit) cpu_reuse_ -= got;
    given_[c.name]["cpu"] = FormatIds(got);
    return true;
  }

  /// bestOf of 4.6 among those that hold `required`; nullptr: none.
  static const SlowHint* BestOf(const SlowList& list, const Ids& required) {
    const SlowHint* best = nullptr;
    for (const SlowHint& h : list) {
      if (!Holds(h.nodes, required)) continue;
      if (best == nullptr || (h.preferred && !best->preferred) ||
          (h.preferred == best->preferred && SlowNarrower(h.nodes, best->nodes)))
        best = &h;
    }
    return best;
  }

  /// 4.6, 4.7.
  bool AllocateMemory(const Asked& c, const SlowHint& hint) {
    if (c.memory.empty()) return true;
    const std::string prefix = "[memorymanager] ";
    const SlowList list = MemoryList(c.memory);
    SlowHint best = hint;
    if (hint.any) {
      const SlowHint* found = BestOf(list, {});
      if (found == nullptr)
        return Fail(prefix + "failed to get the default NUMA affinity, no NUMA nodes with enough memory is available");
      if (hint.preferred && !found->preferred) return Fail(prefix + "failed to find the default preferred hint");
      best = *found;
    }
    if (!Enough(best.nodes, c.memory, &SlowNodeMemory::free, false)) {
      const SlowHint* wider = BestOf(list, best.nodes);
      if (wider == nullptr) return Fail(prefix + "failed to find NUMA nodes to extend the current topology hint");
      if (best.preferred && !wider->preferred) return Fail(prefix + "failed to find the extended preferred hint");
      best = *wider;
    }
    if (Violates(best.nodes)) return Fail(prefix + "preferred hint violates NUMA node allocation");
    for (const auto& [type, size] : c.memory) {
      Book(best.nodes, type, std::max<std::int64_t>(0, size - Reusable(best.nodes, type)));
      std::int64_t& left = memory_reuse_[{best.nodes, type}];
      left = c.kind == ContainerKind::kInit ? std::max(left, size) : std::max<std::int64_t>(0, left - size);
      Shrink(c, best.nodes, type, size);
      blocks_.push_back({c.name, c.kind, best.nodes, type, size});
    }
    for (const Asked& other : asked_) given_[other.name]["memory"] = BlocksText(other.name);
    return true;
  }
  void Book(const Ids& nodes, const std::string& type, std::int64_t size) {
    for (unsigned id : nodes) {
      SlowNodeMemory& m = memory_[id];
      ++m.assignments;
      m.cells = nodes;
      const std::int64_t part = std::min(At(m.free, type), size);
      if (part == 0) continue;
      m.free[type] -= part;
      m.reserved[type] += part;
      size -= part;
    }
  }
  struct Block {
    std::string container;
    ContainerKind kind;
    Ids nodes;
    std::string type;
    std::int64_t size;
  };
  void Shrink(const Asked& c, const Ids& nodes, const std::string& type, std::int64_t left) {
    for (Block& b : blocks_) {
      if (b.container == c.name) return;
      if (b.kind != ContainerKind::kInit || b.type != type || b.nodes != nodes) continue;
      const std::int64_t part = std::min(b.size, left);
      b.size -= part;
      left -= part;
    }
  }
  std::string BlocksText(const std::string& container) const {
    std::string out;
    for (const Block& b : blocks_)
      if (b.container == container) out += Text(b.nodes) + " " + b.type + " " + std::to_string(b.size) + "; ";
    return out;
  }

  const Node& node_;
  const Machine& machine_;
  const KubeletConfiguration& config_;
  const Pod& pod_;
  const Inputs& inputs_;
  Ids all_, with_cpus_;
  std::vector<Asked> asked_;
  int pod_cpus_ = 0;
  std::map<std::string, std::int64_t> pod_memory_, pod_devices_;

  CpuSet shared_, cpu_reuse_;
  std::map<unsigned, SlowNodeMemory> memory_;
  std::map<std::pair<Ids, std::string>, std::int64_t> memory_reuse_;
  std::vector<Block> blocks_;
  std::map<std::string, std::set<std::string>> taken_, device_reuse_;

  bool admitted_ = false;
  std::string error_;
  std::map<std::string, Given> given_;
};

}  // namespace berth::allocator::testing

#endif  // BERTH_ALLOCATOR_TESTING_SLOW_ADMISSION_H_
