// The cgroup of berthd itself: moves it there, and back.
#ifndef BERTH_DAEMON_OWN_GROUP_H_
#define BERTH_DAEMON_OWN_GROUP_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/cgroup/cgroup.h"
#include "host/os/fs.h"

namespace berth::daemon {

/// Directories of the cgroups this process is in now, one per hierarchy Berth uses; pure half: `proc_self_cgroup` is
/// the text of /proc/self/cgroup. A hierarchy that cannot be told gives its mount point.
std::vector<std::string> CurrentGroups(const cgroup::Layout& layout, std::string_view proc_self_cgroup);

/// Moves this process with all its threads into each of these directories. `root` is the file system "/".
/// Errors: the first that occurred; the moves before it stand.
Result<void> MoveSelf(os::Fs& root, const std::vector<std::string>& dirs);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_OWN_GROUP_H_
