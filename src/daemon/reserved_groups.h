// enforceNodeAllocatable for system-reserved and kube-reserved: groups of the host that are not Berth's.
#ifndef BERTH_DAEMON_RESERVED_GROUPS_H_
#define BERTH_DAEMON_RESERVED_GROUPS_H_

#include <string>

#include "base/result.h"
#include "cgroup/cgroup.h"
#include "cgroup/names.h"
#include "cgroup/node_values.h"
#include "os/fs.h"

namespace berth::daemon {

/// Whether the group is there in every hierarchy of `layout`; `root` is "/". Changes nothing. Errors: as below,
/// kInvalid.
Result<void> CheckReserved(os::Fs& root, const cgroup::Layout& layout, cgroup::Driver driver,
                           const cgroup::ReservedGroup& group);
/// Writes the values of `group` where they differ. `root`: the file system's root. Errors: kInvalid when the group does
/// not exist in a hierarchy (it is the operator's to make), else those of cgroup::Tree::Write; all say which group was
/// to be enforced.
Result<void> EnforceReserved(const std::string& root, const cgroup::Layout& layout, cgroup::Driver driver,
                             const cgroup::ReservedGroup& group);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_RESERVED_GROUPS_H_
