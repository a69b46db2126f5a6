// Comparison of cgroup values: what Berth's groups hold and what they should, from any thread with a tree of its own.
#ifndef BERTH_ENFORCE_INSPECT_H_
#define BERTH_ENFORCE_INSPECT_H_

#include <string>
#include <vector>

#include "cgroup/cgroup.h"
#include "cgroup/value_lines.h"
#include "enforce/group_table.h"
#include "enforce/planner.h"
#include "enforce/site.h"
#include "engine/engine.h"
#include "model/ledger.h"
#include "model/pod.h"

namespace berth::enforce {

/// All that a plan needs to know of this room at one moment.
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
std::vector<GroupState> Inspect(cgroup::Tree& tree, const engine::Node& node, const Picture& picture,
                                const Ledger& ledger, const std::vector<const Pod*>& pods);

}  // namespace berth::enforce

#endif  // BERTH_ENFORCE_INSPECT_H_
