// Comparison of cgroup values: what Berth's groups hold and what they should, from any thread with a tree of its own.
#ifndef BERTH_NODE_CGROUP_MANAGER_INSPECT_H_
#define BERTH_NODE_CGROUP_MANAGER_INSPECT_H_

#include <string>
#include <vector>

#include "allocator/engine.h"
#include "host/cgroup/cgroup.h"
#include "host/cgroup/value_lines.h"
#include "model/ledger.h"
#include "model/pod.h"
#include "node/cgroup_manager/group_table.h"
#include "node/cgroup_manager/planner.h"
#include "node/cgroup_manager/site.h"

namespace berth::cgroup_manager {

/// All that a plan needs to know of this component at one moment.
struct Picture {
  SiteFacts site;
  Groups groups;
  std::string partition_kind = "none";
};

/// A group as it is.
struct GroupState {
  PlannedGroup plan;
  std::vector<ValueLine> values;
  std::string problem;  ///< why it could not be read; empty otherwise
  bool ended = false;   ///< a container's scope of systemd, which ends with its last process; nothing was read
};

/// What every group of the picture holds now, CPUs and memory nodes too, beside what Planner::Plan says. Changes
/// nothing. `pods`: those whose manifests are known. Thread: that of `tree`.
std::vector<GroupState> Inspect(cgroup::Tree& tree, const allocator::Node& node, const Picture& picture,
                                const Ledger& ledger, const std::vector<const Pod*>& pods);

}  // namespace berth::cgroup_manager

#endif  // BERTH_NODE_CGROUP_MANAGER_INSPECT_H_
