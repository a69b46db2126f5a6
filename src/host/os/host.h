// Constants of the running kernel, and what it keeps beside files.
#ifndef BERTH_HOST_OS_HOST_H_
#define BERTH_HOST_OS_HOST_H_

#include <string>

#include "base/result.h"
#include "base/units.h"

namespace berth::os {

/// Size of a page of memory.
Bytes PageSize();

/// The extended attribute `name` of the file or folder `path` (absolute). Errors: kNotFound when there is none.
Result<std::string> ReadAttribute(const std::string& path, const std::string& name);

/// The kernel confines programs by AppArmor profiles.
bool HasAppArmor();
/// It labels processes and files (SELinux).
bool HasSeLinux();

}  // namespace berth::os

#endif  // BERTH_HOST_OS_HOST_H_
