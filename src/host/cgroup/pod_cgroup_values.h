// Cgroup values of pods and containers, as the kubelet computes them (rules/cgroups#conversions,
// rules/cgroups#pods, rules/cgroups#containers). Pure.
#ifndef BERTH_HOST_CGROUP_POD_CGROUP_VALUES_H_
#define BERTH_HOST_CGROUP_POD_CGROUP_VALUES_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"
#include "model/cgroup_values.h"
#include "model/kubelet_config.h"
#include "model/kubelet_rules.h"
#include "model/pod.h"

namespace berth::cgroup {

/// What the kernel takes as cpu.shares.
inline constexpr std::int64_t kMinShares = 2;
inline constexpr std::int64_t kMaxShares = 262'144;

/// kMinShares .. kMaxShares.
std::uint64_t SharesOf(MilliCpu request);
/// cpu.weight of a container: the runtimes' current formula (1024 shares -> 100). 0 shares: 0.
std::uint64_t WeightOfShares(std::uint64_t shares);
/// cpu.weight of the levels above containers: the kubelet's linear formula (1024 shares -> 39).
std::uint64_t TierWeightOfShares(std::uint64_t shares);
/// At least 1 ms; nullopt: no limit asked for.
std::optional<std::chrono::microseconds> QuotaOf(MilliCpu limit, std::chrono::microseconds period);

/// Why: field of CgroupValues ("shares", "cpu_max", "memory_max") -> the formula with its numbers, for people.
using Reasons = std::map<std::string, std::string, std::less<>>;

/// What the settings say about all pods.
struct ValueOptions {
  bool cpu_cfs_quota = true;
  std::chrono::microseconds period{100'000};
  std::int64_t pod_pids_limit = -1;
  bool lift_exclusive_quota = true;               ///< gate DisableCPUQuotaWithExclusiveCPUs
  bool oom_group = false;                         ///< v2 without singleProcessOOMKill
  bool memory_qos = false;                        ///< gate MemoryQoS, on v2
  bool memory_qos_beta = false;                   ///< KubeletRules::memory_qos_beta, on v2
  bool tiered_reservation = false;                ///< memoryReservationPolicy TieredReservation
  std::optional<double> throttling_factor = 0.9;  ///< nullopt: no memory.high
  Bytes node_memory{};  ///< allocatable memory of the node: upper end of memory.high without a limit
  Bytes page{4096};
  friend bool operator==(const ValueOptions&, const ValueOptions&) = default;
};
ValueOptions OptionsOf(const KubeletConfiguration& config, const KubeletRules& rules, bool v2, Bytes node_memory);

/// Values of a pod's cgroup. `why`: nullptr, or takes a reason for each value.
CgroupValues PodValues(const Pod& pod, bool has_exclusive_cpus, const ValueOptions& options, Reasons* why = nullptr);
/// `cpus`, `mems`: where it may run; nullopt leaves them inherited. `exclusive`: the CPUs are its own.
CgroupValues ContainerValues(const Pod& pod, const Container& container, bool exclusive, std::optional<CpuSet> cpus,
                             std::optional<NodeSet> mems, const ValueOptions& options, Reasons* why = nullptr);

/// What the kernel gives a new group of a pod, or of a container, of the values that only some settings make Berth
/// write.
CgroupValues UnsetPodValues();
CgroupValues UnsetContainerValues();
/// What other settings made Berth write and these do not: the values of `unset` that `wanted` says nothing of and that
/// are others in `found`.
CgroupValues Lifts(const CgroupValues& wanted, const CgroupValues& found, const CgroupValues& unset);
/// All that settings say about values of pods, containers and classes, as a text that differs when they do; for one
/// kind of host. `qos_reserved_memory`: as NodeShares has it.
std::string SettingsText(const ValueOptions& options, std::optional<int> qos_reserved_memory);

/// What the kubelet tells a runtime of a pod's sandbox: its overhead as if it were request and limit (nothing without
/// one), and the sum of its containers without it. CPU and memory only; no limit: none is told.
CgroupValues SandboxOverhead(const Pod& pod, const ValueOptions& options);
CgroupValues SandboxResources(const Pod& pod, const ValueOptions& options);

/// Page sizes and amounts of the "hugepages-<size>" entries of a list, added to `out`.
void AddHugePages(const ResourceList& list, std::map<Bytes, Bytes>& out);
/// "cpu request 350m × 1024 / 1000 = 358", with the minimum where it counts. `what` names the request.
std::string ReasonForShares(std::string_view what, MilliCpu request);

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_POD_CGROUP_VALUES_H_
