// Files that must survive the death of any program but not of the machine: replaced as a whole, without waiting for
// disks.
#ifndef BERTH_HOST_OS_VOLATILE_FILE_H_
#define BERTH_HOST_OS_VOLATILE_FILE_H_

#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::os {

/// Atomic for every reader (temporary file in the same directory, rename), with `mode` whatever the umask, not synced:
/// after a power failure the file may be missing, old or empty. Errors: as open(2), write(2), rename(2), with the old
/// file untouched.
Result<void> ReplaceVolatile(const std::string& path, std::string_view bytes, unsigned mode = 0600);

}  // namespace berth::os

#endif  // BERTH_HOST_OS_VOLATILE_FILE_H_
