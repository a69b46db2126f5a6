// enforceNodeAllocatable for system-reserved and kube-reserved: groups of the host that are not Berth's.
#ifndef BERTH_DAEMON_RESERVED_GROUPS_H_
#define BERTH_DAEMON_RESERVED_GROUPS_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "host/cgroup/cgroup.h"
#include "host/cgroup/cgroup_names.h"
#include "host/cgroup/node_values.h"
#include "host/os/fs.h"
#include "model/tree_view.h"

namespace berth::daemon {

/// Path of the group from the top of the hierarchy. Errors: kInvalid.
Result<std::string> PathOfReserved(cgroup::Driver driver, const cgroup::ReservedGroup& group);

/// Whether the group is there in every hierarchy of `layout`; `root` is "/". Changes nothing. Errors: as below,
/// kInvalid.
Result<void> CheckReserved(os::Fs& root, const cgroup::Layout& layout, cgroup::Driver driver,
                           const cgroup::ReservedGroup& group);

/// What the group holds beside what it should. Errors: of reading it.
Result<std::vector<ValueLine>> InspectReserved(const std::string& root, const cgroup::Layout& layout,
                                               cgroup::Driver driver, const cgroup::ReservedGroup& group);

/// Writes the values of `group` where they differ, and returns those that did, as they were. `root`: the file system's
/// root. Errors: kInvalid when the group does not exist in a hierarchy (it is the operator's to make), else those of
/// cgroup::Tree::Write; all say which group was to be enforced.
Result<std::vector<ValueLine>> EnforceReserved(const std::string& root, const cgroup::Layout& layout,
                                               cgroup::Driver driver, const cgroup::ReservedGroup& group);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_RESERVED_GROUPS_H_
