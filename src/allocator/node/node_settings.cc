#include "allocator/node/node_settings.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "allocator/node/allocatable.h"
#include "allocator/topology/mask.h"
#include "base/problems.h"
#include "base/text.h"
#include "base/words.h"
#include "model/kubelet_version.h"
#include "model/resources.h"

namespace berth::allocator {
namespace {

/// The least that max-allowable-numa-nodes may say. Without it the kubelet accepts that many nodes, Berth any number.
constexpr int kLeastNumaNodes = 8;

/// Go's boolean texts.
std::optional<bool> ParseBool(std::string_view text) {
  constexpr std::array<std::string_view, 6> kTrue{"1", "t", "T", "TRUE", "true", "True"};
  constexpr std::array<std::string_view, 6> kFalse{"0", "f", "F", "FALSE", "false", "False"};
  if (std::find(kTrue.begin(), kTrue.end(), text) != kTrue.end()) return true;
  if (std::find(kFalse.begin(), kFalse.end(), text) != kFalse.end()) return false;
  return std::nullopt;
}

enum class Maturity { kStable, kBeta, kAlpha };

struct CpuOption {
  std::string_view name;
  Maturity maturity;
  bool CpuOptions::* field;
};

constexpr std::array<CpuOption, 6> kCpuOptions{{
    {"full-pcpus-only", Maturity::kStable, &CpuOptions::full_pcpus_only},
    {"strict-cpu-reservation", Maturity::kStable, &CpuOptions::strict_reservation},
    {"prefer-align-cpus-by-uncorecache", Maturity::kStable, &CpuOptions::align_uncore},
    {"distribute-cpus-across-numa", Maturity::kBeta, &CpuOptions::distribute_numa},
    {"align-by-socket", Maturity::kAlpha, &CpuOptions::align_by_socket},
    {"distribute-cpus-across-cores", Maturity::kAlpha, &CpuOptions::distribute_cores},
}};

/// Refused together, in the order in which they are tested.
constexpr std::array<std::pair<std::size_t, std::size_t>, 4> kRefusedPairs{{{0, 5}, {3, 5}, {2, 5}, {2, 3}}};

std::string OptionNames() {
  std::string out;
  for (const CpuOption& option : kCpuOptions) out += (out.empty() ? "" : ", ") + std::string(option.name);
  return out;
}

Result<void> CheckMaturity(const CpuOption& option, const KubeletConfiguration& config, KubeletVersion version,
                           std::string_view setting) {
  if (option.maturity == Maturity::kStable) return {};
  const bool alpha = option.maturity == Maturity::kAlpha;
  const std::string_view gate = alpha ? "CPUManagerPolicyAlphaOptions" : "CPUManagerPolicyBetaOptions";
  if (FeatureEnabled(config, gate, version)) return {};
  return BadSetting(setting, std::string("new static policy error: CPU Manager Policy ") + (alpha ? "Alpha" : "Beta") +
                                 "-level Options not enabled, but option \"" + std::string(option.name) +
                                 "\" provided (turn on featureGates." + std::string(gate) + ")");
}

Result<void> CheckPairs(const CpuOptions& options) {
  for (const auto& [a, b] : kRefusedPairs) {
    if (!(options.*(kCpuOptions[a].field)) || !(options.*(kCpuOptions[b].field))) continue;
    return BadSetting("cpuManagerPolicyOptions", "new static policy error: static policy options " +
                                                     std::string(kCpuOptions[a].name) + " and " +
                                                     std::string(kCpuOptions[b].name) +
                                                     " can not be used at the same time (turn one of them off)");
  }
  return {};
}

Result<void> ReadCpuOption(const KubeletConfiguration& config, KubeletVersion version, const std::string& name,
                           const std::string& value, CpuOptions& out) {
  const std::string setting = "cpuManagerPolicyOptions." + Printable(name);
  const auto* const option =
      std::find_if(kCpuOptions.begin(), kCpuOptions.end(), [&](const CpuOption& o) { return o.name == name; });
  if (option == kCpuOptions.end())
    return BadSetting(setting, "new static policy error: unknown CPU Manager Policy option: \"" + Printable(name) +
                                   "\" (use " + OptionNames() + ")");
  BERTH_RETURN_IF_ERROR(CheckMaturity(*option, config, version, setting));
  const std::optional<bool> on = ParseBool(value);
  if (!on)
    return BadSetting(setting, "new static policy error: bad value for option \"" + name + "\": \"" + Printable(value) +
                                   "\" is not a boolean (use true or false)");
  out.*(option->field) = *on;
  return {};
}

Result<CpuOptions> ParseCpuOptions(const KubeletConfiguration& config, KubeletVersion version) {
  CpuOptions out;
  Problems problems;
  for (const auto& [name, value] : config.cpu_manager_policy_options)
    problems.Take(ReadCpuOption(config, version, name, value, out));
  BERTH_RETURN_IF_ERROR(problems.Done());
  BERTH_RETURN_IF_ERROR(CheckPairs(out));
  return out;
}

/// reservedSystemCPUs; nullopt when not set.
Result<std::optional<CpuSet>> ListedCpus(const KubeletConfiguration& config, const CpuTopology& topology) {
  if (config.reserved_system_cpus.empty()) return std::optional<CpuSet>();
  auto cpus = CpuSet::Parse(config.reserved_system_cpus);
  if (!cpus) return BadSetting("reservedSystemCPUs", cpus.error().message);
  if (!cpus->IsSubsetOf(topology.cpus()))
    return BadSetting("reservedSystemCPUs", "reserved-cpus: " + FormatIds(*cpus) + " is not a subset of online-cpus: " +
                                                FormatIds(topology.cpus()) + " (name CPUs that are online)");
  if (!config.system_reserved_cgroup.empty() || !config.kube_reserved_cgroup.empty())
    return BadSetting("reservedSystemCPUs",
                      "can't be combined with systemReservedCgroup or kubeReservedCgroup (leave one of them out)");
  return std::optional<CpuSet>(*std::move(cpus));
}

Result<void> ReadTopologyOption(const std::string& name, const std::string& value, NodeSettings& out,
                                std::optional<int>& most_nodes) {
  const std::string setting = "topologyManagerPolicyOptions." + Printable(name);
  if (name == "prefer-closest-numa-nodes") {
    const std::optional<bool> on = ParseBool(value);
    if (!on)
      return BadSetting(setting, "bad value for option \"" + name + "\": \"" + Printable(value) +
                                     "\" is not a boolean (use true or false)");
    out.prefer_closest = *on;
    return {};
  }
  if (name != "max-allowable-numa-nodes")
    return BadSetting(setting, "unknown Topology Manager Policy option: \"" + Printable(name) +
                                   "\" (use prefer-closest-numa-nodes or max-allowable-numa-nodes)");
  most_nodes = ParseDecimal<int>(value);
  if (!most_nodes)
    return BadSetting(setting, "unable to convert policy option to integer: \"" + Printable(value) +
                                   "\" (write a whole number from 8 up)");
  if (*most_nodes < kLeastNumaNodes)
    return BadSetting(setting,
                      "the minimum value of \"max-allowable-numa-nodes\" should not be less than 8 (this says " +
                          std::to_string(*most_nodes) + ")");
  return {};
}

Result<void> ReadTopologyOptions(const KubeletConfiguration& config, NodeSettings& out,
                                 std::optional<int>& most_nodes) {
  Problems problems;
  for (const auto& [name, value] : config.topology_manager_policy_options)
    problems.Take(ReadTopologyOption(name, value, out, most_nodes));
  return problems.Done();
}

Result<void> CheckNodeCount(const Machine& machine, std::optional<int> most_nodes) {
  const int nodes = static_cast<int>(machine.nodes.size());
  if (!most_nodes || nodes <= *most_nodes) return {};
  return BadSetting("topologyManagerPolicyOptions.max-allowable-numa-nodes",
                    "unsupported on machines with more than " + std::to_string(*most_nodes) +
                        " NUMA Nodes: this one has " + std::to_string(nodes) +
                        " (raise the option or leave it out, or set topologyManagerPolicy to none)");
}

Result<void> ReadTopologySettings(const Machine& machine, const KubeletConfiguration& config, NodeSettings& out) {
  const auto policy = ParseTopologyPolicy(config.topology_manager_policy);
  if (!policy)
    return BadSetting("topologyManagerPolicy", "unknown policy: \"" + Printable(config.topology_manager_policy) +
                                                   "\" (use none, best-effort, restricted or single-numa-node)");
  out.topology_policy = *policy;
  const std::string& scope = config.topology_manager_scope;
  if (scope != "container" && scope != "pod")
    return BadSetting("topologyManagerScope", "unknown scope: \"" + Printable(scope) + "\" (use container or pod)");
  out.scope = scope == "pod" ? Scope::kPod : Scope::kContainer;
  // Under policy none nothing is aligned, and the kubelet looks at neither options nor node count.
  if (*policy == TopologyPolicy::kNone) return {};
  std::optional<int> most_nodes;
  BERTH_RETURN_IF_ERROR(ReadTopologyOptions(config, out, most_nodes));
  BERTH_RETURN_IF_ERROR(CheckNodeCount(machine, most_nodes));
  if (!out.prefer_closest) return {};
  for (const NumaNode& node : machine.nodes)
    if (node.distances.empty())
      return BadSetting("topologyManagerPolicyOptions.prefer-closest-numa-nodes",
                        "cannot discover NUMA topology: error getting NUMA distances from cadvisor: node " +
                            std::to_string(Raw(node.id)) + " has none (leave the option out)");
  return {};
}

/// The CPUs reserved for the system: the list, or as many as are reserved by amount, chosen like a container's.
Result<CpuSet> ChooseReserved(const CpuTopology& topology, const NodeSettings& settings,
                              const std::optional<CpuSet>& listed, const KubeletRules& rules) {
  constexpr std::string_view kSetting = "systemReserved.cpu, kubeReserved.cpu, reservedSystemCPUs";
  const auto amount = settings.reservation.find("cpu");
  if (amount == settings.reservation.end())
    return BadSetting(
        kSetting,
        "[cpumanager] unable to determine reserved CPU resources for static policy (reserve at least one CPU)");
  constexpr std::int64_t kMostMilli = 1'000'000'000;  // more than any machine has
  const int count = static_cast<int>((std::min(amount->second.MilliValue(), kMostMilli) + 999) / 1000);
  CpuSet cpus;
  if (listed) {
    cpus = *listed;
  } else {
    TakeRequest request = RequestBy(settings.cpu, topology, rules);
    request.available = topology.cpus();
    request.num = count;
    if (auto taken = TakeCpus(topology, request)) cpus = *std::move(taken);
  }
  if (cpus.Count() != count)
    return BadSetting(
        kSetting, "new static policy error: [cpumanager] unable to reserve the required amount of CPUs (size of " +
                      (cpus.empty() ? "{}" : FormatIds(cpus)) + " did not equal " + std::to_string(count) +
                      "; this machine has " + Counted(topology.cpus().Count(), "CPU") + ", reserve at most as many)");
  return cpus;
}

Result<void> ReadCpuPolicy(const KubeletConfiguration& config, KubeletVersion version, NodeSettings& out) {
  if (config.cpu_manager_policy == "none") {
    if (config.cpu_manager_policy_options.empty()) return {};
    return BadSetting("cpuManagerPolicyOptions",
                      "None policy: received unsupported options (leave them out, or set cpuManagerPolicy to static)");
  }
  if (config.cpu_manager_policy != "static")
    return BadSetting("cpuManagerPolicy",
                      "unknown policy: \"" + Printable(config.cpu_manager_policy) + "\" (use none or static)");
  out.cpu_policy = CpuPolicy::kStatic;
  BERTH_TRY(out.cpu, ParseCpuOptions(config, version));
  return {};
}

/// Of a policy that was read.
Result<void> ReadReservedCpus(const CpuTopology& topology, const std::optional<CpuSet>& listed,
                              const KubeletRules& rules, NodeSettings& out) {
  if (out.cpu_policy == CpuPolicy::kNone) return {};
  BERTH_RETURN_IF_ERROR(CheckAlignBySocket(topology, out.cpu, out.topology_policy));
  BERTH_TRY(out.reserved_cpus, ChooseReserved(topology, out, listed, rules));
  return {};
}

Result<void> CheckReservedEntry(const Machine& machine, const MemoryReservation& entry, const std::string& where,
                                NodeSettings& out) {
  if (!NodeIds(machine).Contains(entry.node))
    return BadSetting(where, "the reserved memory configuration references a NUMA node " +
                                 std::to_string(Raw(entry.node)) +
                                 " that does not exist on this machine (nodes: " + FormatIds(NodeIds(machine)) + ")");
  for (const auto& [type, amount] : entry.limits) {
    const std::string field = where + ".limits." + type;
    if (!IsMemoryType(type)) return BadSetting(field, "only memory and hugepages-<size> can be reserved");
    if (amount.Sign() <= 0 || !amount.IsInteger())
      return BadSetting(field, "reserved amount must be a whole number of bytes above zero, not " + amount.ToString());
    if (!out.reserved_memory[entry.node].emplace(type, Bytes{amount.Value()}).second)
      return BadSetting(field, "reserved twice for NUMA node " + std::to_string(Raw(entry.node)));
  }
  return {};
}

/// The sum over the nodes must be what node allocatable keeps back, type by type.
Result<void> CheckReservedSums(const NodeSettings& settings) {
  std::map<std::string, Quantity> sums;
  for (const auto& [name, amount] : settings.reservation)
    if (IsMemoryType(name)) sums[name];
  for (const auto& [node, types] : settings.reserved_memory)
    for (const auto& [type, amount] : types) sums[type] += Quantity::FromBytes(amount);
  for (const auto& [type, sum] : sums) {
    const auto expected = settings.reservation.find(type);
    const Quantity want = expected == settings.reservation.end() ? Quantity() : expected->second;
    if (sum == want) continue;
    return BadSetting("reservedMemory",
                      "the total amount \"" + sum.ToString() + "\" of type \"" + type +
                          "\" is not equal to the value \"" + want.ToString() +
                          "\" determined by Node Allocatable feature (systemReserved + kubeReserved + "
                          "evictionHard: expected " +
                          std::to_string(want.Value()) + " bytes in sum)");
  }
  return {};
}

Result<void> ReadMemoryPolicy(const KubeletConfiguration& config, NodeSettings& out) {
  if (config.memory_manager_policy == "None") return {};
  if (config.memory_manager_policy == "BestEffort")
    return BadSetting("memoryManagerPolicy",
                      "policy \"BestEffort\" is not available for platform \"linux\" (use None or Static)");
  if (config.memory_manager_policy != "Static")
    return BadSetting("memoryManagerPolicy",
                      "unknown policy: \"" + Printable(config.memory_manager_policy) + "\" (use None or Static)");
  out.memory_policy = MemoryPolicy::kStatic;
  return {};
}

/// Of a policy that was read.
Result<void> ReadReservedMemory(const Machine& machine, const KubeletConfiguration& config, NodeSettings& out) {
  if (out.memory_policy == MemoryPolicy::kNone) return {};
  Problems problems;
  std::size_t position = 0;
  for (const MemoryReservation& entry : config.reserved_memory)
    problems.Take(CheckReservedEntry(machine, entry, "reservedMemory[" + std::to_string(position++) + "]", out));
  BERTH_RETURN_IF_ERROR(problems.Done());
  BERTH_RETURN_IF_ERROR(CheckReservedSums(out));
  for (const auto& [node, types] : out.reserved_memory)
    if (types.contains("memory")) return {};
  return BadSetting("reservedMemory",
                    "[memorymanager] you should specify the system reserved memory (reserve some of "
                    "type memory on a node)");
}

Result<void> CheckMachine(const Machine& machine, const KubeletConfiguration& config, KubeletVersion version) {
  std::set<NumaId> seen;
  for (const NumaNode& node : machine.nodes)
    if (!seen.insert(node.id).second)
      return Fail(Code::kInvalid, "machine: NUMA node " + std::to_string(Raw(node.id)) + " is listed twice");
  if (machine.nodes.size() > Mask::kNodes)
    return Fail(Code::kUnsupported, "machine: " + std::to_string(machine.nodes.size()) +
                                        " NUMA nodes are more than the supported " + std::to_string(Mask::kNodes));
  if (FeatureEnabled(config, "PodLevelResourceManagers", version))
    return Fail(Code::kUnsupported,
                "featureGates.PodLevelResourceManagers: this feature is not supported (leave it off)");
  return {};
}

}  // namespace

Result<void> CheckAlignBySocket(const CpuTopology& topology, const CpuOptions& cpu, TopologyPolicy policy) {
  if (!cpu.align_by_socket) return {};
  constexpr std::string_view kSetting = "cpuManagerPolicyOptions.align-by-socket";
  if (policy == TopologyPolicy::kSingleNumaNode)
    return BadSetting(
        kSetting,
        "new static policy error: Topolgy manager single-numa-node policy is incompatible with CPUManager "
        "align-by-socket policy option (turn it off, or use another topologyManagerPolicy)");
  if (topology.num_sockets() > topology.num_numa())
    return BadSetting(
        kSetting,
        "new static policy error: Align by socket is not compatible with hardware where number of sockets are "
        "more than number of NUMA (turn it off)");
  return {};
}

Result<CpuOptions> WithWishes(CpuOptions below, const CpuWishes& wishes) {
  CpuOptions out = below;
  for (const CpuOption& option : kCpuOptions)
    if (const auto wish = wishes.kubelet.find(option.name); wish != wishes.kubelet.end())
      out.*(option.field) = wish->second;
  const auto take = [](auto& to, const auto& from) {
    if (from) to = from;
  };
  take(out.numa, wishes.numa);
  take(out.l3, wishes.l3);
  take(out.cores, wishes.cores);
  take(out.end, wishes.end);
  take(out.kind, wishes.kind);
  take(out.isolated, wishes.isolated);
  BERTH_RETURN_IF_ERROR(CheckPairs(out));
  if (out.OwnOrder() && (out.distribute_numa || out.distribute_cores))
    return Fail(Code::kInvalid,
                std::string(out.distribute_numa ? "distribute-cpus-across-numa" : "distribute-cpus-across-cores") +
                    " cannot be used together with numa, l3, cores or end (leave one of them out)");
  if (out.full_pcpus_only && out.cores == Fill::kSpread)
    return Fail(Code::kInvalid, "full-pcpus-only cannot be used together with cores=spread (leave one of them out)");
  return out;
}

Result<void> CheckSharedCpus(const NodeSettings& settings, const CpuTopology& topology) {
  if (!settings.cpu.strict_reservation || !topology.cpus().IsSubsetOf(settings.reserved_cpus)) return {};
  return BadSetting(
      "cpuManagerPolicyOptions.strict-cpu-reservation",
      "all CPUs (" + FormatIds(settings.reserved_cpus) + ") are reserved, none would be left for pods (reserve fewer)");
}

TakeRequest RequestBy(const CpuOptions& options, const CpuTopology& topology, const KubeletRules& rules) {
  TakeRequest out;
  out.distributed = options.distribute_numa;
  out.group = options.full_pcpus_only ? topology.cpus_per_core() : 1;
  out.by_socket = options.align_by_socket;
  out.uncore = options.align_uncore;
  out.spread = options.distribute_cores;
  out.rules = rules;
  return out;
}

Result<NodeSettings> CheckSettings(const Machine& machine, const KubeletConfiguration& config,
                                   const CpuTopology& topology, const KubeletRules& rules) {
  BERTH_RETURN_IF_ERROR(CheckMachine(machine, config, rules.version));
  Problems problems;
  NodeSettings out;
  const auto listed = ListedCpus(config, topology);
  out.capacity = NodeCapacity(machine, config);
  auto reservation = NodeReservation(config, out.capacity, listed && *listed ? (*listed)->Count() : -1);
  const bool list_known = problems.Take(listed);
  const bool known = problems.Take(reservation) && list_known;  // else what is held to it would be wrong for that alone
  if (reservation) out.reservation = *std::move(reservation);
  out.allocatable = NodeAllocatable(out.capacity, out.reservation);
  problems.Take(ReadTopologySettings(machine, config, out));
  if (problems.Take(ReadCpuPolicy(config, rules.version, out)) && known)
    problems.Take(ReadReservedCpus(topology, *listed, rules, out));
  if (problems.Take(ReadMemoryPolicy(config, out)) && known) problems.Take(ReadReservedMemory(machine, config, out));
  BERTH_RETURN_IF_ERROR(problems.Done());
  return out;
}

}  // namespace berth::allocator
