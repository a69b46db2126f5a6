// The cgroup tree as the local API shows it (docs/reference/api.md).
#ifndef BERTH_DAEMON_TREE_STATUS_H_
#define BERTH_DAEMON_TREE_STATUS_H_

#include "daemon/pod_manager.h"
#include "model/tree_view.h"

namespace berth::daemon {

/// Reads every group of Berth's. Thread: the loop's.
TreeView TreeStatus(const PodManager& manager);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_TREE_STATUS_H_
