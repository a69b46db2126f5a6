// Filters of system calls for processes of pods: RuntimeDefault, and profiles from files (Localhost).
#ifndef BERTH_HOST_SECCOMP_PROFILE_H_
#define BERTH_HOST_SECCOMP_PROFILE_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "host/os/capabilities.h"
#include "host/os/identity.h"

namespace berth::seccomp {

/// RuntimeDefault: what container engines deny by default is answered with EPERM, but what one of `capabilities` is
/// for; calls newer than this build knows of, and those of the x32 variant, do not exist (ENOSYS).
Result<os::SeccompProgram> RuntimeDefault(os::CapabilitySet capabilities);

/// A profile in the format of OCI and docker. Errors: kInvalid naming what is wrong or not carried out: text that is no
/// such profile, an unknown action, operator, architecture or field; actions that need somebody listening.
Result<os::SeccompProgram> CompileProfile(std::string_view json, os::CapabilitySet capabilities);

/// The profile in the file `name` below the folder `root`, out of which no link leads.
/// Errors: kNotFound, kPermission (it leads out), kInvalid (no regular file, or as CompileProfile), each with path.
Result<os::SeccompProgram> Localhost(const std::string& root, const std::string& name, os::CapabilitySet capabilities);

}  // namespace berth::seccomp

#endif  // BERTH_HOST_SECCOMP_PROFILE_H_
