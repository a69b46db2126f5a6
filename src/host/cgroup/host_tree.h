// The tree of a host with its doors given, for tests and for the driver of systemd. Internal to the component.
#ifndef BERTH_HOST_CGROUP_HOST_TREE_H_
#define BERTH_HOST_CGROUP_HOST_TREE_H_

#include <memory>
#include <string>

#include "base/result.h"
#include "host/cgroup/cgroup.h"
#include "host/cgroup/tree_doors.h"
#include "host/os/fs.h"

namespace berth::cgroup {

/// As Tree::Open, with the doors given.
Result<std::unique_ptr<Tree>> OpenTree(std::unique_ptr<os::Fs> root_fs, Layout layout, const std::string& root,
                                       TreeDoors doors);

/// As Tree::OpenToLook, with the doors given; what it makes and writes is real.
Result<std::unique_ptr<Tree>> OpenTreeToLook(std::unique_ptr<os::Fs> root_fs, Layout layout, const std::string& root,
                                             TreeDoors doors);

/// Errors: kPermission for a mount that cannot be written to, with the cure.
Result<void> CheckWritable(const Layout& layout);

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_HOST_TREE_H_
