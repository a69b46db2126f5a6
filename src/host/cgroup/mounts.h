// Cgroup mount points from /proc/self/mountinfo (proc(5)). Pure. Internal to this folder.
#ifndef BERTH_HOST_CGROUP_MOUNTS_H_
#define BERTH_HOST_CGROUP_MOUNTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::cgroup {

/// One line of mountinfo that shows a cgroup hierarchy.
struct Mount {
  std::string point;
  std::string root;
  bool v2 = false;
  bool read_only = false;
  std::vector<std::string> controllers;  ///< v1 only, among other words
};

/// All cgroup mounts; of several at one point the last one is what the path shows. Errors: kInvalid for a line that is
/// none of mountinfo.
Result<std::vector<Mount>> FindMounts(std::string_view mountinfo);

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_MOUNTS_H_
