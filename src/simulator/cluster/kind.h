// A machine with its settings and devices, held once for all nodes of a fleet where these are equal.
#ifndef BERTH_SIMULATOR_CLUSTER_KIND_H_
#define BERTH_SIMULATOR_CLUSTER_KIND_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "allocator/engine.h"
#include "base/id_set.h"
#include "base/result.h"
#include "model/device.h"
#include "model/kubelet_config.h"
#include "model/machine.h"

namespace berth::cluster {

/// What does not change on a node while pods come and go.
struct NodeDescription {
  Machine machine;
  KubeletConfiguration config;
  allocator::EngineOptions options;
  DeviceInventory devices;
};

/// A NUMA node of a kind.
struct Zone {
  NumaId id{};
  CpuSet cpus;               ///< that a container could have for itself; {} under CPU policy none
  std::int64_t memory = -1;  ///< bytes that pods may have there; -1: nobody keeps account of it (memory policy None)
};

struct Kind {
  std::uint32_t id = 0;  ///< no other kind of the fleet has or had it
  allocator::Node node;
  allocator::Inputs inputs;
  std::vector<Zone> zones;           ///< by NUMA id
  std::optional<std::int64_t> pods;  ///< how many there may be; nullopt: any number
  int exclusive_cpus = 0;            ///< CPUs of all zones
  bool whole_cores = false;          ///< full-pcpus-only
  std::int64_t cpu_milli = 0;        ///< allocatable, thousandths
  std::int64_t memory = 0;           ///< allocatable, bytes
};

using KindRef = std::shared_ptr<const Kind>;

/// All kinds in use.
class Kinds {
 public:
  /// The kind of this description, which is made when it is new. Where the machine was read from does not count.
  /// Errors: as allocator::Node::Make and allocator::CheckDevices.
  Result<KindRef> Find(NodeDescription description);
  /// Number of kinds that some node is of.
  std::size_t Count() const;

 private:
  std::unordered_multimap<std::size_t, std::weak_ptr<const Kind>> known_;  // by hash of the description
  std::uint32_t next_id_ = 0;
};

}  // namespace berth::cluster

#endif  // BERTH_SIMULATOR_CLUSTER_KIND_H_
