// Looks at every container's cgroup below kubepods, whoever made it. Writes nothing.
#ifndef BERTH_CGROUP_OBSERVE_H_
#define BERTH_CGROUP_OBSERVE_H_

#include <vector>

#include "base/result.h"
#include "cgroup/cgroup.h"
#include "model/running.h"

namespace berth::cgroup {

/// All groups at the places of PodPath, sorted by path; groups that go meanwhile are left out. Errors: from reading.
Result<std::vector<RunningGroup>> ObserveRunning(Tree& tree);

}  // namespace berth::cgroup

#endif  // BERTH_CGROUP_OBSERVE_H_
