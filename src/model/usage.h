// Resource usage of cgroups, pods and the node, as the kernel counts it. Plain values; nullopt: not counted here.
#ifndef BERTH_MODEL_USAGE_H_
#define BERTH_MODEL_USAGE_H_

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/id_set.h"
#include "base/time_text.h"
#include "base/units.h"
#include "model/pod_view.h"

namespace berth {

/// By a CPU quota.
struct Throttling {
  std::uint64_t periods = 0;
  std::uint64_t throttled = 0;  ///< of these
  std::chrono::nanoseconds time{0};
  friend bool operator==(const Throttling&, const Throttling&) = default;
};

/// Time in which something was waited for (PSI).
struct Stall {
  std::chrono::microseconds some{0};  ///< by some processes
  std::chrono::microseconds full{0};  ///< by all of them
  double some_lately = 0;             ///< percent of the last ten seconds
  double full_lately = 0;
  friend bool operator==(const Stall&, const Stall&) = default;
};

/// Of a cgroup with everything below it, or of the host. Times and faults since it was made.
struct GroupUsage {
  std::optional<std::chrono::nanoseconds> cpu;
  std::optional<Throttling> throttling;
  std::optional<Bytes> memory;
  std::optional<Bytes> working_set;  ///< `memory` less inactive file pages, not below 0
  std::optional<Bytes> anonymous;    ///< the kubelet's rss
  std::optional<Bytes> swap;
  std::optional<std::uint64_t> page_faults;
  std::optional<std::uint64_t> major_page_faults;
  std::optional<std::int64_t> processes;
  std::optional<Stall> cpu_stall;
  std::optional<Stall> memory_stall;
  std::optional<Stall> io_stall;
  std::optional<double> cores;   ///< CPU between this look and the one before
  std::map<NumaId, Bytes> numa;  ///< memory by NUMA node; empty: not counted, or there is one node
  friend bool operator==(const GroupUsage&, const GroupUsage&) = default;
};

struct PodUsage {
  std::shared_ptr<const PodView> pod;  ///< never null
  GroupUsage usage;
  std::map<std::string, GroupUsage> containers;  ///< that run, by name
};

/// Memory of a NUMA node as the kernel has it.
struct NumaMemory {
  Bytes total{};
  Bytes free{};
  friend bool operator==(const NumaMemory&, const NumaMemory&) = default;
};

/// Of one CPU.
struct CpuBusy {
  std::chrono::nanoseconds time{0};  ///< neither idle nor waiting, since the host's start
  std::optional<double> used;        ///< part of it between this look and the one before: 0 to 1
  friend bool operator==(const CpuBusy&, const CpuBusy&) = default;
};

/// The host as a whole.
struct HostUsage {
  GroupUsage all;
  Bytes memory{};      ///< there is
  Bytes huge_pages{};  ///< of that, neither in `all` nor available: set aside for huge pages, used or not
  std::optional<WallTime> booted_at;
  std::map<NumaId, NumaMemory> nodes;
  std::map<CpuId, CpuBusy> cpus;  ///< that are online
  friend bool operator==(const HostUsage&, const HostUsage&) = default;
};

/// Of one moment.
struct NodeUsage {
  WallTime at{};
  std::chrono::nanoseconds clock{0};  ///< the same moment, of a clock that never goes back
  std::string node_name;
  HostUsage host;
  /// Of pods by tier, and of berthd: "pods" (all), "guaranteed", "burstable", "besteffort", "berthd".
  std::map<std::string, GroupUsage> groups;
  std::vector<PodUsage> pods;  ///< that hold a place, by namespace and name
};

}  // namespace berth

#endif  // BERTH_MODEL_USAGE_H_
