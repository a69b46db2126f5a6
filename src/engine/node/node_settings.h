// The kubelet's settings that bear on decisions, parsed and checked against the machine:
// rules/cpu#policies-and-options, rules/cpu#reserved-cpus, rules/memory#reserved-memory, rules/topology#policies.
// Messages start with the setting's name.
#ifndef BERTH_ENGINE_NODE_NODE_SETTINGS_H_
#define BERTH_ENGINE_NODE_NODE_SETTINGS_H_

#include <map>
#include <string>

#include "base/id_set.h"
#include "base/quantity.h"
#include "base/result.h"
#include "engine/align/topology_policy.h"
#include "engine/topology/cpu_topology.h"
#include "model/kubelet_config.h"
#include "model/machine.h"

namespace berth::engine {

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
};

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

/// Errors: kInvalid in the kubelet's words, in the order in which it would find them.
Result<NodeSettings> CheckSettings(const Machine& machine, const KubeletConfiguration& config,
                                   const CpuTopology& topology);

/// Refuses a strict reservation of all CPUs. The kubelet starts, and pods then run without a cpuset, on the reserved
/// CPUs (docs/differences.md).
Result<void> CheckSharedCpus(const NodeSettings& settings, const CpuTopology& topology);

}  // namespace berth::engine

#endif  // BERTH_ENGINE_NODE_NODE_SETTINGS_H_
