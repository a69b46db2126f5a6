// The kubelet's settings that bear on decisions, parsed and checked against the machine:
// rules/cpu#policies-and-options, rules/cpu#reserved-cpus, rules/memory#reserved-memory, rules/topology#policies.
// Messages start with the setting's name.
#ifndef BERTH_ALLOCATOR_NODE_NODE_SETTINGS_H_
#define BERTH_ALLOCATOR_NODE_NODE_SETTINGS_H_

#include <map>
#include <optional>
#include <string>

#include "allocator/cpu_selection/take.h"
#include "allocator/topology/cpu_topology.h"
#include "allocator/topology_manager/topology_policy.h"
#include "base/id_set.h"
#include "base/quantity.h"
#include "base/result.h"
#include "model/kubelet_config.h"
#include "model/kubelet_rules.h"
#include "model/machine.h"
#include "model/own_rules.h"

namespace berth::allocator {

enum class CpuPolicy { kNone, kStatic };
enum class MemoryPolicy { kNone, kStatic };
enum class Scope { kContainer, kPod };

struct CpuOptions {
  bool full_pcpus_only = false;
  bool strict_reservation = false;
  bool align_uncore = false;
  bool distribute_numa = false;
  bool align_by_socket = false;
  bool distribute_cores = false;
  // Berth's own; nullopt: as the kubelet has it (rules/own#cpus).
  std::optional<Fill> numa{};
  std::optional<CachePlace> l3{};
  std::optional<Fill> cores{};
  std::optional<CpuEnd> end{};
  std::optional<CoreKind> kind{};
  std::optional<IsolatedCpus> isolated{};
  /// CPUs are taken in an order of Berth's own (cpu_selection/ordered.h).
  bool OwnOrder() const { return numa || l3 || cores || end; }
};

/// How the options have CPUs taken; which and how many is the caller's to say.
TakeRequest RequestBy(const CpuOptions& options, const CpuTopology& topology, const KubeletRules& rules);

/// Checked settings. A plain value.
struct NodeSettings {
  CpuPolicy cpu_policy = CpuPolicy::kNone;
  CpuOptions cpu;
  MemoryPolicy memory_policy = MemoryPolicy::kNone;
  std::map<NumaId, std::map<std::string, Bytes, std::less<>>> reserved_memory;
  TopologyPolicy topology_policy = TopologyPolicy::kNone;
  Scope scope = Scope::kContainer;
  bool prefer_closest = false;
  ResourceList capacity;     ///< cpu, memory, hugepages-*, pods
  ResourceList reservation;  ///< system + kube + hard eviction; no zero entries
  ResourceList allocatable;
  CpuSet reserved_cpus;  ///< listed or chosen by count; {} under CPU policy none
};

/// Errors: kInvalid in the kubelet's words, in the order in which it would find them, a line each.
Result<NodeSettings> CheckSettings(const Machine& machine, const KubeletConfiguration& config,
                                   const CpuTopology& topology, const KubeletRules& rules);

/// `below` with what is wished over it. Errors: kInvalid where options contradict each other.
Result<CpuOptions> WithWishes(CpuOptions below, const CpuWishes& wishes);
/// Refuses align-by-socket where the policy or the machine has no room for it.
Result<void> CheckAlignBySocket(const CpuTopology& topology, const CpuOptions& cpu, TopologyPolicy policy);

/// Refuses a strict reservation of all CPUs. The kubelet starts, and pods then run without a cpuset, on the reserved
/// CPUs (docs/differences.md).
Result<void> CheckSharedCpus(const NodeSettings& settings, const CpuTopology& topology);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_NODE_NODE_SETTINGS_H_
