#include "model/node_state.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "model/promises.h"

namespace berth {
namespace {

constexpr std::size_t kMostNodes = 64;
constexpr unsigned kFarthest = 255;  // distances are bytes in the firmware's table
constexpr std::size_t kLongestName = 253;

/// Keeps the first thing that is wrong.
class StateCheck {
 public:
  explicit StateCheck(const NodeState& state) : state_(state) {}

  Result<void> Run() {
    CheckName();
    CheckMachine();
    CheckSettings();
    CheckLedger();
    if (problem_.empty()) {
      // Only now, because it adds amounts up.
      const std::vector<std::string> wrong = Contradictions(state_.ledger);
      if (!wrong.empty()) Note("ledger", wrong.front());
    }
    if (!problem_.empty()) return Fail(Code::kInvalid, "node state: " + problem_);
    return {};
  }

 private:
  void Note(const std::string& field, const std::string& what) {
    if (problem_.empty()) problem_ = field + ": " + what;
  }
  void CheckAmount(const std::string& field, Bytes size) {
    if (size.v < 0 || size.v > kMostBytes.v) Note(field, "expected 0 to " + std::to_string(kMostBytes.v));
  }
  void CheckAmounts(const std::string& field, const ResourceList& list) {
    for (const auto& [name, amount] : list) CheckAmount(field + "." + name, {amount.Value()});
  }
  void CheckNodes(const std::string& field, const NodeSet& nodes) {
    if (!nodes.IsSubsetOf(nodes_)) Note(field, "there is no such NUMA node");
  }

  void CheckName() {
    const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; };
    if (state_.node.empty() || state_.node.size() > kLongestName || !std::ranges::all_of(state_.node, fits))
      Note("metadata.name", "expected a node's name");
  }

  void CheckPages(const std::string& field, const std::vector<HugePages>& pages) {
    for (const HugePages& p : pages)
      if (p.page_size.v <= 0 || p.page_size.v > kMostBytes.v || p.count < 0 || p.count > kMostBytes.v / p.page_size.v)
        Note(field, "more huge pages than a machine can have");
  }

  void CheckMachine() {
    const Machine& m = state_.machine;
    if (m.nodes.empty() || m.nodes.size() > kMostNodes) Note("machine.nodes", "expected 1 to 64 NUMA nodes");
    CheckAmount("machine.memory", m.memory);
    CheckPages("machine.hugepages", m.hugepages);
    for (const int reported : {m.reported_cpus, m.reported_sockets, m.reported_cores})
      if (reported < 0 || reported > static_cast<int>(kMaxId) + 1) Note("machine.reportedCpus", "no such machine");
    for (const NumaNode& node : m.nodes) CheckNode(node);
    for (const L3Group& group : m.l3) CheckAmount("machine.l3.size", group.size);
    if (m.this_host) Note("machine.thisHost", "a published machine is another host");
  }
  void CheckNode(const NumaNode& node) {
    const std::string field = "machine.nodes[" + std::to_string(Raw(node.id)) + "]";
    if (nodes_.Contains(node.id)) Note(field, "this node is listed twice");
    nodes_.Insert(node.id);
    CheckAmount(field + ".memory", node.memory);
    CheckPages(field + ".hugepages", node.hugepages);
    if (node.distances.size() > kMostNodes ||
        std::ranges::any_of(node.distances, [](unsigned d) { return d > kFarthest; }))
      Note(field + ".distances", "expected up to 64 numbers up to 255");
    for (const Core& core : node.cores) {
      for (const CpuId cpu : core.threads) {
        if (cpus_.Contains(cpu)) Note(field + ".cores", "CPU " + std::to_string(Raw(cpu)) + " is listed twice");
        if (!state_.machine.online.Contains(cpu))
          Note(field + ".cores", "CPU " + std::to_string(Raw(cpu)) + " is not online");
        cpus_.Insert(cpu);
      }
      for (const UncoreCache& cache : core.uncore) CheckAmount(field + ".cores.uncoreCaches.size", cache.size);
    }
  }

  void CheckSettings() {
    CheckAmounts("configuration.systemReserved", state_.config.system_reserved);
    CheckAmounts("configuration.kubeReserved", state_.config.kube_reserved);
    for (const MemoryReservation& reservation : state_.config.reserved_memory)
      CheckAmounts("configuration.reservedMemory", reservation.limits);
    for (const auto& [resource, devices] : state_.devices) {
      std::set<std::string_view> ids;
      for (const Device& device : devices) {
        if (device.id.empty() || !ids.insert(device.id).second)
          Note("devices." + resource, "each device has an id of its own");
        CheckNodes("devices." + resource, device.nodes);
      }
    }
  }

  void CheckLedger() {
    // A CPU that went offline stays promised to who has it.
    CpuSet known = state_.machine.present;
    for (const CpuId cpu : state_.machine.online) known.Insert(cpu);
    if (!state_.ledger.shared.IsSubsetOf(known)) Note("ledger.shared", "the machine has no such CPU");
    for (const auto& [node, books] : state_.ledger.memory) {
      const std::string field = "ledger.memory[" + std::to_string(Raw(node)) + "]";
      if (!nodes_.Contains(node)) Note(field, "there is no such NUMA node");
      CheckNodes(field + ".cells", books.cells);
      for (const auto& [type, table] : books.types)
        for (const Bytes size : {table.total, table.system_reserved, table.allocatable, table.reserved, table.free})
          CheckAmount(field + "." + type, size);
    }
    for (const auto& [uid, pod] : state_.ledger.pods) CheckPod("ledger.pods[" + uid + "]", pod, known);
  }
  void CheckPod(const std::string& field, const PodRecord& pod, const CpuSet& known) {
    if (pod.uid.empty()) Note(field, "a pod has a uid");
    CheckAmounts(field + ".requests", pod.requests);
    for (const Placement& placement : pod.placements) {
      if (placement.cpus && !placement.cpus->IsSubsetOf(known)) Note(field + ".cpus", "the machine has no such CPU");
      if (!placement.memory) continue;
      for (const MemoryBlock& block : *placement.memory) {
        CheckNodes(field + ".memory", block.nodes);
        CheckAmount(field + ".memory", block.size);
      }
    }
    if (!pod.reusable.cpus.IsSubsetOf(known)) Note(field + ".reusable.cpus", "the machine has no such CPU");
    for (const auto& [where, size] : pod.reusable.memory) {
      CheckNodes(field + ".reusable.memory", where.first);
      CheckAmount(field + ".reusable.memory", size);
    }
  }

  const NodeState& state_;
  NodeSet nodes_;
  CpuSet cpus_;
  std::string problem_;
};

}  // namespace

NodeState Compact(NodeState state) {
  KubeletConfiguration config;
  config.cpu_manager_policy = std::move(state.config.cpu_manager_policy);
  config.cpu_manager_policy_options = std::move(state.config.cpu_manager_policy_options);
  config.memory_manager_policy = std::move(state.config.memory_manager_policy);
  config.reserved_memory = std::move(state.config.reserved_memory);
  config.topology_manager_policy = std::move(state.config.topology_manager_policy);
  config.topology_manager_scope = std::move(state.config.topology_manager_scope);
  config.topology_manager_policy_options = std::move(state.config.topology_manager_policy_options);
  config.reserved_system_cpus = std::move(state.config.reserved_system_cpus);
  config.system_reserved = std::move(state.config.system_reserved);
  config.kube_reserved = std::move(state.config.kube_reserved);
  config.eviction_hard = std::move(state.config.eviction_hard);
  config.merge_default_eviction_settings = state.config.merge_default_eviction_settings;
  config.max_pods = state.config.max_pods;
  config.pods_per_core = state.config.pods_per_core;
  config.feature_gates = std::move(state.config.feature_gates);
  state.config = std::move(config);

  state.machine.source = "node " + state.node;
  state.machine.this_host = false;
  state.machine.boot_id.clear();
  if (!state.close_devices) state.machine.pci.clear();
  for (auto& [resource, devices] : state.devices) std::ranges::sort(devices, {}, &Device::id);
  for (auto& [uid, pod] : state.ledger.pods)
    for (Placement& placement : pod.placements)
      for (DeviceAssignment& given : placement.devices) given.answer.reset();
  return state;
}

Result<void> CheckNodeState(const NodeState& state) { return StateCheck(state).Run(); }

}  // namespace berth
