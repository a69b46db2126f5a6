// Removal of a whole directory by somebody who must not remove what others have mounted in it.
#ifndef BERTH_HOST_OS_REMOVE_TREE_H_
#define BERTH_HOST_OS_REMOVE_TREE_H_

#include <string>

#include "base/result.h"

namespace berth::os {

/// Removes `path` with everything below. Links are removed, never followed; a place where something is mounted stays
/// with what is mounted there and with the directories above it (openat2(2), RESOLVE_NO_XDEV). Not there: success.
/// However deep directories lie in each other, 200 descriptors are held: what lies deeper is moved to the top first.
/// Errors: the first (kBusy: something is mounted); the rest was tried.
Result<void> RemoveTree(const std::string& path);

}  // namespace berth::os

#endif  // BERTH_HOST_OS_REMOVE_TREE_H_
