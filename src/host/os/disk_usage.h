// Disk usage of a directory tree, as du(1) counts it, while others write into it.
#ifndef BERTH_HOST_OS_DISK_USAGE_H_
#define BERTH_HOST_OS_DISK_USAGE_H_

#include <string>

#include "base/result.h"
#include "base/units.h"

namespace berth::os {

/// Blocks of all that is below the directory `path`, itself included, as du(1) counts them: a file of several names
/// once. Links are not followed, other file systems left out, what vanishes meanwhile too. Stops as soon as it is more
/// than `enough`, or after a million entries or 100 levels: what lies deeper is not counted. Errors: when `path` cannot
/// be opened.
Result<Bytes> DiskUsage(const std::string& path, Bytes enough);

}  // namespace berth::os

#endif  // BERTH_HOST_OS_DISK_USAGE_H_
