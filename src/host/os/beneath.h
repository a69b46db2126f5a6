// Paths below a directory whose owner may change it at the same moment: nothing leads out of it.
#ifndef BERTH_HOST_OS_BENEATH_H_
#define BERTH_HOST_OS_BENEATH_H_

#include <string>

#include "base/result.h"
#include "host/os/unique_fd.h"

namespace berth::os {

/// What `path` (relative) is below the directory `root`, as a descriptor that can be looked at and mounted but not read
/// (O_PATH). Links are followed as long as they stay below (openat2(2), RESOLVE_BENEATH).
/// Errors: kNotFound; kPermission when the path leads out of `root`; else from the kernel.
Result<UniqueFd> OpenBeneath(const std::string& root, const std::string& path);

/// The same for a directory; what is missing of it is made with `mode`.
Result<UniqueFd> MakeDirsBeneath(const std::string& root, const std::string& path, unsigned mode);

/// Mounts what `what` stands for at `target`, which is made with its parents; a mount of before is taken off. Whoever
/// opens `target` later gets this very file or directory. Needs CAP_SYS_ADMIN.
Result<void> BindAt(const UniqueFd& what, const std::string& target);

/// Takes off what BindAt mounted and removes `target`, never what was mounted there. Not there: success.
Result<void> Unbind(const std::string& target);

}  // namespace berth::os

#endif  // BERTH_HOST_OS_BENEATH_H_
