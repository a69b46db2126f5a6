// Node capacity, reservation and allocatable: rules/cgroups#node-allocatable.
#ifndef BERTH_ALLOCATOR_NODE_ALLOCATABLE_H_
#define BERTH_ALLOCATOR_NODE_ALLOCATABLE_H_

#include "base/quantity.h"
#include "base/result.h"
#include "model/kubelet_config.h"
#include "model/machine.h"

namespace berth::allocator {

/// cpu, memory, hugepages-*, pods.
ResourceList NodeCapacity(const Machine& machine, const KubeletConfiguration& config);

/// What is kept from pods; zero sums are left out. `listed_cpus` >= 0: size of reservedSystemCPUs, which replaces the
/// cpu entries of systemReserved and kubeReserved.
/// Errors: kInvalid for other resources than cpu, memory, ephemeral-storage and pid, for negative amounts, for an
/// unreadable eviction threshold.
Result<ResourceList> NodeReservation(const KubeletConfiguration& config, const ResourceList& capacity, int listed_cpus);

/// Errors: kInvalid for a reservation above capacity.
Result<void> CheckReservation(const ResourceList& capacity, const ResourceList& reservation);

ResourceList NodeAllocatable(const ResourceList& capacity, const ResourceList& reservation);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_NODE_ALLOCATABLE_H_
