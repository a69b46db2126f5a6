// Groups a container runtime leaves in hierarchies Berth does not use (devices, blkio, ...): empty directories that
// nobody else would remove.
#ifndef BERTH_HOST_CGROUP_LEFTOVER_GROUPS_H_
#define BERTH_HOST_CGROUP_LEFTOVER_GROUPS_H_

#include <string>

#include "host/os/fs.h"

namespace berth::cgroup {

/// Removes the empty groups at `path` and below it from every cgroup hierarchy of the host. A group that is not empty
/// stays, with those above it. `path`: absolute, below the hierarchies' roots; not "/".
void RemoveLeftoverGroups(os::Fs& root_fs, const std::string& path);

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_LEFTOVER_GROUPS_H_
