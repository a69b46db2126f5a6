// Everything about a machine and its settings that is worked out once: engine_node.h, Node.
#ifndef BERTH_ENGINE_NODE_NODE_TABLES_H_
#define BERTH_ENGINE_NODE_NODE_TABLES_H_

#include <optional>
#include <vector>

#include "engine/align/aligner.h"
#include "engine/node/engine_options.h"
#include "engine/node/memory_layout.h"
#include "engine/node/node_settings.h"
#include "engine/topology/cpu_topology.h"
#include "engine/topology/device_places.h"
#include "engine/topology/mask.h"

namespace berth::engine {

struct NodeTables {
  Machine machine;
  KubeletConfiguration config;
  EngineOptions options;
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

}  // namespace berth::engine

#endif  // BERTH_ENGINE_NODE_NODE_TABLES_H_
