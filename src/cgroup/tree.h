// How a tree reaches processes and time, apart from files: so that tests neither kill nor wait. Internal to the room.
#ifndef BERTH_CGROUP_TREE_H_
#define BERTH_CGROUP_TREE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cgroup/cgroup.h"
#include "os/clock.h"

namespace berth::cgroup {

struct TreeDoors {
  /// Sends SIGKILL to those of `pids` that `still_there` (asked after a handle to each was opened) still names.
  std::function<Result<void>(const std::vector<int>& pids,
                             const std::function<Result<std::vector<int>>()>& still_there)>
      kill;
  /// Waits that long.
  std::function<void(os::Millis)> wait;
};

/// The real ones.
TreeDoors HostDoors();

/// As Tree::Open, with the doors given.
Result<std::unique_ptr<Tree>> OpenTree(std::unique_ptr<os::Fs> root_fs, Layout layout, const std::string& root,
                                       TreeDoors doors);

/// As Tree::OpenToLook, with the doors given; what it makes and writes is real.
Result<std::unique_ptr<Tree>> OpenTreeToLook(std::unique_ptr<os::Fs> root_fs, Layout layout, const std::string& root,
                                             TreeDoors doors);

/// Errors: kPermission for a mount that cannot be written to, with the cure.
Result<void> CheckWritable(const Layout& layout);

/// Whether `name` may be a component of a cgroup path. Errors: kInvalid, naming it and the reason.
Result<void> CheckComponent(std::string_view name);

}  // namespace berth::cgroup

#endif  // BERTH_CGROUP_TREE_H_
