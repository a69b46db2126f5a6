// Placement of a container: its CPUs, memory blocks and devices, and the topology hint it was placed by.
#ifndef BERTH_MODEL_PLACEMENT_H_
#define BERTH_MODEL_PLACEMENT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/id_set.h"
#include "base/units.h"
#include "model/device.h"
#include "model/pod.h"

namespace berth {

/// A set of NUMA nodes that would serve, and whether it is as narrow as can be.
struct TopologyHint {
  std::optional<NodeSet> nodes;  ///< nullopt: any node will do
  bool preferred = false;
  friend bool operator==(const TopologyHint&, const TopologyHint&) = default;
};

/// Hints of one resource: nullopt means no preference, an empty list means impossible.
using Hints = std::optional<std::vector<TopologyHint>>;

/// An amount of one memory type on a group of nodes (memory manager block).
struct MemoryBlock {
  NodeSet nodes;
  std::string type;  ///< "memory" or "hugepages-<size>"
  Bytes size{};      ///< as booked; init containers' shrink when reused (rules/memory#init-reuse)
  friend bool operator==(const MemoryBlock&, const MemoryBlock&) = default;
};

struct DeviceAssignment {
  std::string resource;
  std::vector<std::string> ids;        ///< sorted
  std::optional<DeviceAnswer> answer;  ///< nullopt: nobody was asked what they bring (yet)
  friend bool operator==(const DeviceAssignment&, const DeviceAssignment&) = default;
};

/// What one container of a pod was given.
struct Placement {
  std::string container;
  ContainerKind kind = ContainerKind::kApp;
  std::optional<TopologyHint> hint;                ///< nullopt: topology policy none
  std::optional<CpuSet> cpus;                      ///< exclusive CPUs; nullopt: runs in the shared pool
  bool mixed = false;                              ///< runs in the shared pool beside `cpus`
  std::optional<std::vector<MemoryBlock>> memory;  ///< nullopt: not pinned
  std::vector<DeviceAssignment> devices;           ///< by resource
  /// Those of `cpus` that it was started with, of one that has been given more since: a resize that still needs as many
  /// leaves it these (rules/resize#shrink). nullopt: all of them.
  std::optional<CpuSet> promised{};
  NodeSet nodes{};                ///< NUMA nodes that it asked to be kept to (rules/own#nodes); empty: it did not
  CpuSet node_cpus{};             ///< all CPUs of `nodes`
  std::string pool{};             ///< named pool it runs in (Ledger::pools); "": none
  std::int64_t pool_request = 0;  ///< thousandths of CPUs that it asks of that pool
  friend bool operator==(const Placement&, const Placement&) = default;
};

/// It has CPUs that are not the shared pool's: its own, or a named pool's.
inline bool HasCpusApart(const Placement& placement) { return placement.cpus || !placement.pool.empty(); }
/// Nodes for cpuset.mems: union of the blocks' nodes, else those it asked for; empty: not pinned.
NodeSet MemoryNodes(const Placement& placement);
/// What of the shared pool it runs on when it runs there: the CPUs of the nodes it asked for, while there are such.
CpuSet PartOfPool(const CpuSet& node_cpus, const CpuSet& shared);

}  // namespace berth

#endif  // BERTH_MODEL_PLACEMENT_H_
