// Simulated start of a pod's containers: what init containers held goes back to the pod.
#ifndef BERTH_SIMULATOR_OFFLINE_START_CONTAINERS_H_
#define BERTH_SIMULATOR_OFFLINE_START_CONTAINERS_H_

#include <string>

#include "allocator/engine.h"
#include "model/ledger.h"

namespace berth::offline {

/// Starts all containers of an admitted pod in order, as the kubelet would. An unknown uid: nothing.
void StartContainers(const allocator::Node& node, Ledger& ledger, const std::string& uid);

}  // namespace berth::offline

#endif  // BERTH_SIMULATOR_OFFLINE_START_CONTAINERS_H_
