// v1: processes that the kernel moved out of their container's cpuset when it had no CPU left, and did not move back.
#ifndef BERTH_NODE_CGROUP_MANAGER_DISPLACED_PROCESSES_H_
#define BERTH_NODE_CGROUP_MANAGER_DISPLACED_PROCESSES_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/os/clock.h"
#include "node/cgroup_manager/group_table.h"
#include "node/cgroup_manager/site.h"

namespace berth::cgroup_manager {

/// Thread: the loop's only.
class DisplacedProcesses {
 public:
  DisplacedProcesses(const Site& site, const GroupTable& table) : site_(site), table_(table) {}

  /// Looks for them and moves them back. False: the slice is over; to be called again. No reason to stop anything:
  /// where they are, they are among their pod's CPUs.
  bool Return(const os::Slice& slice);
  /// The next Return begins anew.
  void Restart();
  /// What the last Return that came to its end did: path of a container -> how many processes came back.
  const std::map<std::string, int>& returned() const { return returned_; }
  /// The same: containers some of whose processes could not be moved back, and why.
  const std::map<std::string, std::string>& problems() const { return problems_; }

 private:
  /// What a Return has found so far.
  struct Looking {
    bool at_containers = false;                     // all pods were looked at
    std::string done;                               // uid of the last pod, or path of the last container
    std::vector<int> above;                         // pids right in a class's cpuset
    std::map<std::string, std::vector<int>> found;  // by uid
    std::map<std::string, int> returned;
    std::map<std::string, std::string> problems;
  };
  void Add(const std::string& path, std::vector<int>& to) const;
  bool LookAtPods(const os::Slice& slice);
  bool ReturnToContainers(const os::Slice& slice);

  const Site& site_;
  const GroupTable& table_;
  std::optional<Looking> looking_;
  std::map<std::string, int> returned_;
  std::map<std::string, std::string> problems_;
};

}  // namespace berth::cgroup_manager

#endif  // BERTH_NODE_CGROUP_MANAGER_DISPLACED_PROCESSES_H_
