// Everything about a machine and its settings that is worked out once: engine.h, Node.
#ifndef BERTH_ENGINE_TABLES_H_
#define BERTH_ENGINE_TABLES_H_

#include <vector>

#include "engine/align/aligner.h"
#include "engine/align/mask.h"
#include "engine/engine.h"
#include "engine/memory/books.h"
#include "engine/settings.h"
#include "engine/topology.h"

namespace berth::engine {

struct NodeTables {
  Machine machine;
  KubeletConfiguration config;
  EngineOptions options;
  Settings settings;
  Topology topology;
  NodeIndex nodes;                ///< all nodes of the machine, memory-only ones too
  std::vector<CpuSet> node_cpus;  ///< by position in `nodes`
  CpuSet all_cpus;
  CpuSet reserved_cores;  ///< all CPUs of every core that has a reserved CPU
  Mask cpu_nodes;         ///< nodes that own a CPU
  MemoryLayout memory;
  Aligner aligner;

  bool StaticCpus() const { return settings.cpu_policy == CpuPolicy::kStatic; }
  bool StaticMemory() const { return settings.memory_policy == MemoryPolicy::kStatic; }
};

}  // namespace berth::engine

#endif  // BERTH_ENGINE_TABLES_H_
