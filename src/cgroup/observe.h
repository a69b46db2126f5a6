// Looks at every container's cgroup where pods have theirs, whoever made it. Writes nothing.
#ifndef BERTH_CGROUP_OBSERVE_H_
#define BERTH_CGROUP_OBSERVE_H_

#include <vector>

#include "base/result.h"
#include "cgroup/cgroup.h"
#include "cgroup/names.h"
#include "model/running.h"

namespace berth::cgroup {

/// All groups below groups that are called like a pod's, sorted by path; groups that go meanwhile are left out.
/// Errors: from reading.
Result<std::vector<RunningGroup>> ObserveRunning(Tree& tree, const Names& names);

}  // namespace berth::cgroup

#endif  // BERTH_CGROUP_OBSERVE_H_
