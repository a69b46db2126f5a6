// Everything about a machine and its settings that is worked out once: engine_node.h, Node.
#ifndef BERTH_ALLOCATOR_NODE_NODE_TABLES_H_
#define BERTH_ALLOCATOR_NODE_NODE_TABLES_H_

#include <optional>
#include <vector>

#include "allocator/node/engine_options.h"
#include "allocator/node/memory_layout.h"
#include "allocator/node/node_settings.h"
#include "allocator/topology/cpu_topology.h"
#include "allocator/topology/device_places.h"
#include "allocator/topology/mask.h"
#include "allocator/topology_manager/aligner.h"
#include "model/kubelet_rules.h"

namespace berth::allocator {

struct NodeTables {
  Machine machine;
  KubeletConfiguration config;
  EngineOptions options;
  KubeletRules kubelet;
  NodeSettings settings;
  CpuTopology topology;
  NodeIndex nodes;                ///< all nodes of the machine, memory-only ones too
  std::vector<CpuSet> node_cpus;  ///< by position in `nodes`
  CpuSet all_cpus;
  CpuSet isolated;        ///< isolcpus, nohz_full
  CpuSet apart;           ///< those of them that are in no shared pool: {} unless OwnRules::isolated_apart
  CpuSet performance;     ///< CPUs of cores of that kind
  CpuSet efficiency;      ///< likewise
  CpuSet reserved_cores;  ///< all CPUs of every core that has a reserved CPU
  Mask cpu_nodes;         ///< nodes that own a CPU
  MemoryLayout memory;
  Aligner aligner;
  std::optional<DevicePlaces> places;  ///< nullopt: EngineOptions::close_devices is off

  bool StaticCpus() const { return settings.cpu_policy == CpuPolicy::kStatic; }
  bool StaticMemory() const { return settings.memory_policy == MemoryPolicy::kStatic; }
};

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_NODE_NODE_TABLES_H_
