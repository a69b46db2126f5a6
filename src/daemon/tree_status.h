// The cgroup tree as the local API shows it (docs/reference/api.md).
#ifndef BERTH_DAEMON_TREE_STATUS_H_
#define BERTH_DAEMON_TREE_STATUS_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "daemon/snapshot_builder.h"
#include "host/cgroup/cgroup.h"
#include "host/cgroup/cgroup_names.h"
#include "host/cgroup/node_values.h"
#include "model/tree_view.h"

namespace berth::daemon {

/// How the API's threads look at the tree, which is the loop's to write.
struct TreeDoor {
  /// A tree of the caller's own; nothing is made or written through it. Called on any thread.
  std::function<Result<std::unique_ptr<cgroup::Tree>>()> open;
  /// Groups of the host to show beside it, by setting: path from the top of the hierarchy.
  std::vector<std::pair<std::string, std::string>> host_groups;
  /// Groups of the host that get what is reserved for them.
  cgroup::Driver driver = cgroup::Driver::kCgroupfs;
  std::vector<cgroup::ReservedGroup> reserved;
};

/// Reads every group of Berth's. Thread: any.
Result<TreeView> TreeStatus(const LoopState& state, const TreeDoor& door);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_TREE_STATUS_H_
