// Resource demand of a pod and its containers on the managers: exclusive CPUs, pinned memory, devices.
// rules/cpu#exclusive-cpus, rules/memory#requests, rules/devices#requests.
#ifndef BERTH_ALLOCATOR_DEMAND_DEMAND_H_
#define BERTH_ALLOCATOR_DEMAND_DEMAND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "allocator/node/node_tables.h"
#include "allocator/node/pod_rules.h"
#include "model/pod.h"

namespace berth::allocator {

struct MemoryNeed {
  std::string type;
  std::int64_t bytes = 0;
};

struct DeviceNeed {
  std::string resource;
  std::int64_t count = 0;
};

struct ContainerDemand {
  const Container* container = nullptr;
  ContainerKind kind = ContainerKind::kApp;
  int cpus = 0;                     ///< exclusive CPUs; 0: shared pool
  bool mixed = false;               ///< the shared pool beside them
  std::string pool{};               ///< the named pool it runs in; "": none
  std::int64_t pool_request = 0;    ///< thousandths of CPUs that it asks of that pool
  std::vector<MemoryNeed> memory;   ///< by type; empty: not pinned
  std::vector<DeviceNeed> devices;  ///< limits that may be devices, by resource
};

/// Names in it point into the pod.
struct PodDemand {
  QosClass qos = QosClass::kBestEffort;
  std::vector<ContainerDemand> containers;  ///< init containers first
  // Of the pod as a whole, for scope "pod".
  int cpus = 0;
  std::vector<MemoryNeed> memory;
  std::vector<DeviceNeed> devices;
};

PodDemand DemandOf(const NodeTables& tables, const PodRules& rules, const Pod& pod);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_DEMAND_DEMAND_H_
