// Open-writer detection: a file open for writing in some process, found with a read lease, fcntl(2) F_SETLEASE.
#ifndef BERTH_HOST_OS_OPEN_WRITERS_H_
#define BERTH_HOST_OS_OPEN_WRITERS_H_

#include <string>

namespace berth::os {

/// True when some process has the file `path` (links are followed) open for writing. False also where it cannot be
/// opened, where the file system has no leases, and where the caller may not have one (another user's file without
/// CAP_LEASE). Thread: any.
bool IsOpenForWriting(const std::string& path);

}  // namespace berth::os

#endif  // BERTH_HOST_OS_OPEN_WRITERS_H_
