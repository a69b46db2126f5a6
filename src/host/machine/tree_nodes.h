// The kubelet's discovery: NUMA nodes, cores, uncore caches and totals (rules/topology#discovery).
#ifndef BERTH_HOST_MACHINE_TREE_NODES_H_
#define BERTH_HOST_MACHINE_TREE_NODES_H_

#include <map>
#include <optional>
#include <vector>

#include "base/result.h"
#include "host/machine/tree_files.h"
#include "model/machine.h"

namespace berth::machine {

/// A cache of one CPU, all files read.
struct CacheInfo {
  UncoreCache cache;
  CpuSet shared;
};

/// Reads caches once per CPU; the kubelet's rule and the L3 groups ask for the same ones.
class CacheReader {
 public:
  explicit CacheReader(TreeFiles& files) : files_(&files) {}
  /// Every cache of a CPU with all of id, size, level, type and shared_cpu_map; nullopt if any cannot be read.
  const std::optional<std::vector<CacheInfo>>& Complete(CpuId cpu);

 private:
  std::optional<std::vector<CacheInfo>> Read(CpuId cpu);
  TreeFiles* files_;
  std::map<CpuId, std::optional<std::vector<CacheInfo>>> cache_;
};

/// Fills nodes, memory, hugepages and the reported totals. `machine.present` and `machine.online` must be set.
/// Errors: kInvalid naming the file.
Result<void> ReadNodes(TreeFiles& files, CacheReader& caches, Machine& machine);

/// Fills memory and hugepages of the machine and of its nodes, which get no cores. Errors: likewise.
Result<void> ReadMemory(TreeFiles& files, Machine& machine);

/// "16K", "32M" or plain bytes. nullopt: junk.
std::optional<Bytes> ParseCacheSize(std::string_view text);

/// "<dir of a CPU in sysfs>/" + `file`.
std::string CpuPath(CpuId cpu, std::string_view file);

}  // namespace berth::machine

#endif  // BERTH_HOST_MACHINE_TREE_NODES_H_
