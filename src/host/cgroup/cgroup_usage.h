// Resource usage and pressure (PSI) of cgroups and the host, from the kernel's files. Internal to this folder.
#ifndef BERTH_HOST_CGROUP_CGROUP_USAGE_H_
#define BERTH_HOST_CGROUP_CGROUP_USAGE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id_set.h"
#include "base/result.h"
#include "host/cgroup/hierarchy.h"
#include "model/usage.h"

namespace berth::cgroup {

// Texts of files that lack what is looked for give nullopt or leave values out: kernels differ in what they count.
// Pure.

/// A pressure file: "some avg10=0.00 … total=12" and "full …", in microseconds.
std::optional<Stall> ParseStall(std::string_view text);
/// cpu.stat of either version.
void ParseCpuStat(std::string_view text, bool v2, GroupUsage& out);
/// memory.stat of either version; `out.memory` is there already.
void ParseMemoryStat(std::string_view text, bool v2, GroupUsage& out);
/// /proc/stat, /proc/meminfo and /proc/vmstat; `ticks`: of the kernel's clock in a second.
HostUsage ParseHost(std::string_view stat, std::string_view meminfo, std::string_view vmstat, long ticks);
/// meminfo of a NUMA node: "Node 0 MemTotal:  16313820 kB".
std::optional<NumaMemory> ParseNumaMemory(std::string_view text);

/// memory.numa_stat of either version: pages of processes and files, on v1 in pages of `page` bytes.
std::map<NumaId, Bytes> ParseNumaStat(std::string_view text, bool v2, std::int64_t page);

/// As Tree::MemoryByNode; `path` relative to each mount. Errors: from reading.
Result<std::map<NumaId, Bytes>> ReadMemoryByNode(ControlFiles& files,
                                                 const std::vector<std::unique_ptr<Hierarchy>>& hierarchies,
                                                 const std::string& path);
/// As Tree::Usage; `path` relative to each mount. Errors: from reading.
Result<std::optional<GroupUsage>> ReadGroupUsage(ControlFiles& files,
                                                 const std::vector<std::unique_ptr<Hierarchy>>& hierarchies,
                                                 const std::string& path);
/// As Tree::UsageOfHost. Errors: from reading.
Result<std::optional<HostUsage>> ReadHostUsage(ControlFiles& files, const NodeSet& nodes);

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_CGROUP_USAGE_H_
