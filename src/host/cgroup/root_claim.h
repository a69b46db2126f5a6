// Locks (flock(2)) on the cgroup root: one manager for a part of the tree, no two with the same root, none inside the
// other's pods.
#ifndef BERTH_HOST_CGROUP_ROOT_CLAIM_H_
#define BERTH_HOST_CGROUP_ROOT_CLAIM_H_

#include <map>
#include <string>

#include "base/result.h"
#include "host/cgroup/cgroup.h"
#include "host/cgroup/cgroup_names.h"
#include "host/os/lock_file.h"

namespace berth::cgroup {

/// Locks of the kernel (flock) on directories of the tree: the group of all pods is held alone, each group above it
/// together with whoever else is below. So a manager inside the pods of another finds a group above its own held alone,
/// and one around the pods of another finds its own group held. Gone with the process.
class RootClaim {
 public:
  /// Takes what is there already of the groups above all pods and of that group, first to last; call it again when the
  /// rest was made.
  /// Errors: kInUse when another process holds one (named, with the cure), else from open(2); what was taken stays so.
  Result<void> Take(const Layout& layout, const Names& names);

 private:
  std::map<std::string, os::LockFile> held_;  // by directory
};

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_ROOT_CLAIM_H_
