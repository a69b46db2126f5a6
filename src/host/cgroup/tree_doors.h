// Kill and wait functions of a cgroup tree, replaced by tests so that those do neither, and the file system that it
// gives to other threads. Internal to this folder.
#ifndef BERTH_HOST_CGROUP_TREE_DOORS_H_
#define BERTH_HOST_CGROUP_TREE_DOORS_H_

#include <functional>
#include <vector>

#include "base/result.h"
#include "host/os/clock.h"
#include "host/os/fs.h"

namespace berth::cgroup {

struct TreeDoors {
  /// Sends SIGKILL to those of `pids` that `still_there` (asked after a handle to each was opened) still names.
  std::function<Result<void>(const std::vector<int>& pids,
                             const std::function<Result<std::vector<int>>()>& still_there)>
      kill;
  /// Waits that long.
  std::function<void(os::Millis)> wait;
  /// The file system for jobs on other threads; nullptr: the tree's own is for all threads.
  os::Fs* for_jobs = nullptr;
};

/// The real ones.
TreeDoors HostDoors();

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_TREE_DOORS_H_
