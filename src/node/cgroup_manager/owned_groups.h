// Cases of ownership: Berth has the groups of containers, those of pods only, or those of nobody.
#ifndef BERTH_NODE_CGROUP_MANAGER_OWNED_GROUPS_H_
#define BERTH_NODE_CGROUP_MANAGER_OWNED_GROUPS_H_

#include "node/cgroup_manager/ownership.h"

namespace berth::cgroup_manager {

/// Berth makes the groups of tiers, pods and containers, says all that they hold, and removes them.
const Ownership& OwnsContainers();
/// Those of tiers and pods; a runtime makes those of containers, and names them after ids.
const Ownership& OwnsPods();
/// A kubelet makes them all: of containers CPUs and memory nodes are written, and nothing else.
const Ownership& OwnsCpusets();

}  // namespace berth::cgroup_manager

#endif  // BERTH_NODE_CGROUP_MANAGER_OWNED_GROUPS_H_
