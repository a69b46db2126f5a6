// What a container holds: CPUs, memory blocks, devices; and the hint it was placed by.
#ifndef BERTH_MODEL_PLACEMENT_H_
#define BERTH_MODEL_PLACEMENT_H_

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
  std::optional<std::vector<MemoryBlock>> memory;  ///< nullopt: not pinned
  std::vector<DeviceAssignment> devices;           ///< by resource
  friend bool operator==(const Placement&, const Placement&) = default;
};

/// Nodes for cpuset.mems: union of the blocks' nodes; empty: not pinned.
NodeSet MemoryNodes(const Placement& placement);

}  // namespace berth

#endif  // BERTH_MODEL_PLACEMENT_H_
