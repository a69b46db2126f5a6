// The processes of a cgroup over all hierarchies of a host: who they are, those that the kernel moved out of their
// cpuset, and their end. Internal to the component.
#ifndef BERTH_HOST_CGROUP_GROUP_PROCESSES_H_
#define BERTH_HOST_CGROUP_GROUP_PROCESSES_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/cgroup/hierarchy.h"
#include "host/cgroup/tree_doors.h"
#include "host/os/clock.h"

namespace berth::cgroup {

/// "23 (state S), 42 (state D), ...": the first eight, with their states of now (proc(5)).
std::string PidList(const std::vector<int>& pids);

/// A `path` is relative to each mount, already checked; each is looked at with everything below it unless said
/// otherwise. Thread: the tree's. All given outlive it; `hierarchies` may still grow.
class GroupProcesses {
 public:
  GroupProcesses(ControlFiles& files, const std::vector<std::unique_ptr<Hierarchy>>& hierarchies,
                 const TreeDoors& doors)
      : files_(files), hierarchies_(hierarchies), doors_(doors) {}

  /// Sorted; gone: empty.
  Result<std::vector<int>> Of(const std::string& path);
  /// Of(path) is not empty. The cpuset is looked at first.
  Result<bool> AnyIn(const std::string& path);
  /// v1: pids right in the cpuset, not below. v2: empty.
  Result<std::vector<int>> InCpuset(const std::string& path);
  /// As Tree::ReturnToCpuset.
  Result<int> ReturnToCpuset(const std::string& path, const std::vector<int>& pids);
  /// As Tree::Kill.
  Result<void> Kill(const std::string& path, os::Millis patience);

 private:
  Result<void> Add(const std::string& dir, std::set<int>& out);
  Result<bool> AnyBelow(const std::string& dir);
  Result<bool> KillAtOnce(const std::string& path);
  std::string V1CpusetDir(const std::string& path) const;

  ControlFiles& files_;
  const std::vector<std::unique_ptr<Hierarchy>>& hierarchies_;
  const TreeDoors& doors_;
};

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_GROUP_PROCESSES_H_
