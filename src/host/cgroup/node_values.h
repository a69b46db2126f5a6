// Values of the levels above pods: all pods, the QoS classes, and what is reserved for system and kubelet
// (rules/cgroups#all-pods, rules/cgroups#classes, rules/cgroups#reserved-groups). Pure.
#ifndef BERTH_HOST_CGROUP_NODE_VALUES_H_
#define BERTH_HOST_CGROUP_NODE_VALUES_H_

#include <optional>
#include <string>
#include <vector>

#include "base/quantity.h"
#include "base/result.h"
#include "host/cgroup/pod_cgroup_values.h"
#include "model/kubelet_config.h"
#include "model/kubelet_rules.h"
#include "model/ledger.h"

namespace berth::cgroup {

/// What the settings and the host say about the node as a whole.
struct NodeShares {
  ResourceList capacity;         ///< cpu, memory, hugepages-<size>, pid (when known)
  ResourceList system_reserved;  ///< with reservedSystemCPUs already counted in
  ResourceList kube_reserved;
  std::vector<std::string> enforce;        ///< enforceNodeAllocatable
  std::optional<int> qos_reserved_memory;  ///< percent; nullopt: off
  bool memory_qos = false;                 ///< gate MemoryQoS, on v2
  bool memory_qos_beta = false;            ///< KubeletRules::memory_qos_beta
  bool tiered_reservation = false;
};
/// `pids`: most processes at a time, if known; `listed_cpus`: size of reservedSystemCPUs, negative without.
/// Errors: kInvalid for a qosReserved that is no share of memory.
Result<NodeShares> SharesOfNode(const KubeletConfiguration& config, const KubeletRules& rules, ResourceList capacity,
                                std::optional<std::int64_t> pids, int listed_cpus, bool v2);

/// The group of all pods, with the memory limit.
CgroupValues NodeValues(const NodeShares& node, const Ledger& ledger, Reasons* why = nullptr);
/// The group of Burstable or BestEffort pods, memory limit under qosReserved included. Requires: not Guaranteed.
CgroupValues TierValues(const NodeShares& node, QosClass qos, const Ledger& ledger, Reasons* why = nullptr);

/// UnsetPodValues of the group of all pods, or of a class.
CgroupValues UnsetTierValues(QosClass qos);

/// A group of the host that gets what is reserved for it.
struct ReservedGroup {
  std::string what;   ///< "System Reserved", "Kube Reserved Compressible", as in the kubelet's events
  std::string group;  ///< as configured
  CgroupValues values;
  Reasons why;
};
/// Those that enforceNodeAllocatable names. Errors: kInvalid when nothing is reserved for one of them.
Result<std::vector<ReservedGroup>> ReservedGroups(const KubeletConfiguration& config, const NodeShares& node);
/// What the kernel gives a new group of all that ReservedGroup::values may have.
CgroupValues UnsetReservedValues();

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_NODE_VALUES_H_
