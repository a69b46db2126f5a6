// File systems of memory at a directory, for volumes.
#ifndef BERTH_HOST_OS_VOLUME_MOUNT_H_
#define BERTH_HOST_OS_VOLUME_MOUNT_H_

#include <optional>
#include <string>

#include "base/result.h"
#include "base/units.h"

namespace berth::os {

/// A tmpfs of at most `size` (nullopt: half of the machine's memory, the kernel's default) at `target`, which is made
/// with its parents, for root only. There already: nothing is done. `own`: what is in it is not swapped out where the
/// kernel can do that (6.4), and no setuid program or device counts. Needs CAP_SYS_ADMIN.
Result<void> MountMemory(const std::string& target, std::optional<Bytes> size, bool own);

/// The same of huge pages of that size, `size` in all at most. Errors: also kUnsupported when the kernel has no such
/// pages.
Result<void> MountHugePages(const std::string& target, Bytes page, std::optional<Bytes> size);

/// Whether something is mounted at `target` itself.
bool IsMountPoint(const std::string& target);

/// Makes the folder `above`/`name` for root. What is mounted in it and later taken off there is taken off in all mount
/// namespaces that have copies: a process started meanwhile would keep it alive. Where the host's mounts are shared
/// they are so already; else `above` is mounted on itself. Needs CAP_SYS_ADMIN. Thread: any.
Result<void> MakeSharedFolder(const std::string& above, const std::string& name);

/// Takes the mount of `above` on itself off when nothing is in it any more. Thread: any.
void DropSharing(const std::string& above);

}  // namespace berth::os

#endif  // BERTH_HOST_OS_VOLUME_MOUNT_H_
