// The directories of cgroups: what one may be called, and which entries of one are groups, not control files. Internal
// to the component.
#ifndef BERTH_HOST_CGROUP_GROUP_DIRS_H_
#define BERTH_HOST_CGROUP_GROUP_DIRS_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "host/os/fs.h"

namespace berth::cgroup {

/// Whether `name` may be a component of a cgroup path. Errors: kInvalid, naming it and the reason.
Result<void> CheckComponent(std::string_view name);

/// Names of the groups right in directory `dir` (absolute), in the order of `fs`; gone: empty. Errors: as os::Fs::List.
Result<std::vector<std::string>> GroupsIn(os::Fs& fs, const std::string& dir);

}  // namespace berth::cgroup

#endif  // BERTH_HOST_CGROUP_GROUP_DIRS_H_
