// Allocatable ephemeral storage of the node: what stands for a limit of it that a container does not have.
#ifndef BERTH_DAEMON_NODE_STORAGE_H_
#define BERTH_DAEMON_NODE_STORAGE_H_

#include <string>

#include "base/quantity.h"
#include "base/units.h"
#include "model/kubelet_config.h"

namespace berth {

/// `capacity` without systemReserved, kubeReserved and the hard eviction threshold of nodefs.available; not below 0.
ResourceList StorageForPods(const KubeletConfiguration& config, Bytes capacity);
/// Of the file system that `folder` is on; empty where it does not say.
ResourceList StorageForPods(const KubeletConfiguration& config, const std::string& folder);

}  // namespace berth

#endif  // BERTH_DAEMON_NODE_STORAGE_H_
