// Cgroup values wanted (cpuset, weight, limits), independent of version and driver. Written by library cgroup,
// explained by `berth tree`.
#ifndef BERTH_MODEL_CGROUP_VALUES_H_
#define BERTH_MODEL_CGROUP_VALUES_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/id_set.h"
#include "base/units.h"

namespace berth {

/// cpu.cfs_quota_us / cpu.max. quota nullopt: no limit.
struct CpuMax {
  std::optional<std::chrono::microseconds> quota;
  std::chrono::microseconds period{100'000};
  friend bool operator==(const CpuMax&, const CpuMax&) = default;
};

/// nullopt everywhere means: leave as it is.
struct CgroupValues {
  std::optional<CpuSet> cpus;           ///< cpuset.cpus; never empty
  std::optional<NodeSet> mems;          ///< cpuset.mems; never empty
  std::optional<std::uint64_t> shares;  ///< cpu.shares (2 .. 262144)
  /// cpu.weight (1 .. 10000), v2 only. nullopt: from `shares` by the kubelet's linear formula; containers differ.
  std::optional<std::uint64_t> weight;
  std::optional<CpuMax> cpu_max;
  std::optional<Bytes> memory_max;       ///< memory.limit_in_bytes / memory.max; -1: no limit
  std::optional<Bytes> swap_max;         ///< swap beyond memory_max, skipped where the kernel counts none; -1: no limit
  std::optional<std::int64_t> pids_max;  ///< -1: no limit
  /// v2 only, ignored on v1: memory.min (kept in any case), memory.low (kept while there is other memory to take),
  /// memory.high (slowed down above it; -1: never), memory.oom.group (all processes end together).
  std::optional<Bytes> memory_min, memory_low, memory_high;
  std::optional<bool> oom_group;
  /// Page size -> limit. When present, sizes of the host that are not listed get `hugetlb_others`
  /// (rules/cgroups#pods).
  std::optional<std::map<Bytes, Bytes>> hugetlb;
  Bytes hugetlb_others{0};
  friend bool operator==(const CgroupValues&, const CgroupValues&) = default;
};

/// Where a process has to go to be in a container's cgroup: absolute directories.
/// v2: exactly one, entered with clone3(CLONE_INTO_CGROUP). v1 and hybrid: one per controller mount, entered by writing
/// the pid to cgroup.procs in each before exec.
struct CgroupDirs {
  bool v2 = false;
  std::vector<std::string> dirs;
  friend bool operator==(const CgroupDirs&, const CgroupDirs&) = default;
};

}  // namespace berth

#endif  // BERTH_MODEL_CGROUP_VALUES_H_
