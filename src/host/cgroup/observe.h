// A look at every container's cgroup where pods have theirs, whoever made it. Writes nothing.
#ifndef BERTH_HOST_CGROUP_OBSERVE_H_
#define BERTH_HOST_CGROUP_OBSERVE_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "host/cgroup/cgroup.h"
#include "host/cgroup/cgroup_names.h"
#include "model/running.h"

namespace berth::cgroup {

/// A group that is called like a pod's.
struct PodGroup {
  std::string path;
  std::string uid;
  QosClass qos = QosClass::kGuaranteed;  ///< of the tier it is in
};

/// All groups where pods have theirs that are called like a pod's, sorted by path. Errors: from reading.
Result<std::vector<PodGroup>> FindPodGroups(Tree& tree, const Names& names);

/// All groups below groups that are called like a pod's, sorted by path; groups that go meanwhile are left out.
/// Errors: from reading.
Result<std::vector<RunningGroup>> ObserveRunning(Tree& tree, const Names& names);

/// Looks for `survivors` of each. Errors: from reading.
Result<void> AddSurvivors(Tree& tree, std::vector<RunningGroup>& running);

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_OBSERVE_H_
