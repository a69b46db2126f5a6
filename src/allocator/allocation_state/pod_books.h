// One pod's admission in progress: the ledger's pools as they change, and the pod's record as it grows.
#ifndef BERTH_ALLOCATOR_ALLOCATION_STATE_POD_BOOKS_H_
#define BERTH_ALLOCATOR_ALLOCATION_STATE_POD_BOOKS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "allocator/allocation_state/device_books.h"
#include "allocator/allocation_state/memory_books.h"
#include "allocator/node/node_tables.h"
#include "allocator/node/pod_rules.h"
#include "model/ledger.h"
#include "model/pod.h"

namespace berth::allocator {

/// Memory that ordinary init containers leave for later containers, by exact set of nodes (rules/memory#init-reuse).
struct ReusableMemory {
  Mask nodes;
  std::string type;
  std::int64_t bytes = 0;
};

/// CPUs that are for exclusive use alone and that nobody has.
inline CpuSet FreeApart(const NodeTables& tables, const Ledger& ledger) {
  return tables.apart.empty() ? CpuSet() : tables.apart - ExclusiveCpus(ledger);
}

struct PodBooks {
  PodBooks(const NodeTables& node_tables, const Ledger& base_ledger, const Inputs& inputs)
      : tables(&node_tables),
        rules(NodeRules(node_tables)),
        ledger(&base_ledger),
        shared(base_ledger.shared),
        apart(FreeApart(node_tables, base_ledger)),
        memory(node_tables.memory, node_tables.nodes, base_ledger.memory),
        devices(node_tables, base_ledger, inputs) {}

  /// Nobody gets a part of a core.
  bool WholeCoresOnly() const { return tables->options.whole_cores && rules.cpu.full_pcpus_only; }

  const NodeTables* tables;
  PodRules rules;
  const Ledger* ledger;
  CpuSet shared;
  CpuSet apart;      ///< free CPUs of NodeTables::apart
  CpuPools pools{};  ///< named pools that differ from the ledger's
  MemoryBooks memory;
  DeviceBooks devices;
  /// CPUs that are not available and may yet be taken as part of a whole core. A BookKeeper may put some here.
  CpuSet may_complete_cores;
  CpuSet near_cpus;  ///< local to the devices of the container that is being placed; {}: none are preferred
  PodRecord record;  ///< placements of the containers that were placed so far
  std::vector<ReusableMemory> reusable_memory;  ///< ascending by (nodes, type)

  std::int64_t ReusableBytes(Mask nodes, std::string_view type) const {
    for (const ReusableMemory& entry : reusable_memory)
      if (entry.nodes == nodes && entry.type == type) return entry.bytes;
    return 0;
  }
};

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_ALLOCATION_STATE_POD_BOOKS_H_
