// Ownership and permission checks of a path, as sshd and cron do of files they act on: only root (or this process's
// user) can decide what it leads to; and who can read it.
#ifndef BERTH_HOST_OS_TRUSTED_PATH_H_
#define BERTH_HOST_OS_TRUSTED_PATH_H_

#include <string>

#include "base/result.h"

namespace berth::os {

/// Follows `path` to its end through every link and looks at each directory on the way: all must belong to root or to
/// the user this process runs as, and none may be writable for group or others (a directory with the sticky bit, as
/// /tmp, may: what is in it is its owner's). True for a path means that no other user can put something else there
/// later either.
/// Errors: kPermission naming the first that is not so, and the cure; else as lstat(2).
Result<void> CheckTrusted(const std::string& path);

/// Whether users who are neither root nor the owner can read the file by its path: others, or members of a group other
/// than root's. What cannot be looked at cannot be read.
bool OthersCanRead(const std::string& path);

}  // namespace berth::os

#endif  // BERTH_HOST_OS_TRUSTED_PATH_H_
