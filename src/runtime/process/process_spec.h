// Process spec of a container: the cgroup, user, capabilities, seccomp filter and mounts it is started with. The same
// for a command run in it later (exec).
#ifndef BERTH_RUNTIME_PROCESS_PROCESS_SPEC_H_
#define BERTH_RUNTIME_PROCESS_PROCESS_SPEC_H_

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/os/capabilities.h"
#include "host/os/identity.h"
#include "host/os/process.h"
#include "host/os/unique_fd.h"
#include "model/pod.h"
#include "runtime/process/record.h"

namespace berth::runtime {

/// Why a plain process cannot be what `security` (completed by the pod's) says, with the cure; "": it can.
std::string ProcessProblem(const SecurityContext& security);

/// Compiles a profile of `type` "RuntimeDefault" or "Localhost" (then the file `profile`) for a process with
/// `capabilities`. Thread: any.
using SeccompCompiler = std::function<Result<os::SeccompProgram>(const std::string& type, const std::string& profile,
                                                                 os::CapabilitySet capabilities)>;
/// Puts the filter into a request that names one. A privileged container has none. For RuntimeDefault only those of its
/// capabilities count that the manifest adds: what it has by itself takes nothing off the list of what is denied.
/// Errors: as SpecOf; kUnsupported without a compiler; those of `compile`.
Result<void> CompileSeccomp(ShimRequest& request, const SeccompCompiler& compile);

/// For the supervisor; outputs are the caller's to set. Reads this host's accounts and mounts.
/// Errors: kInvalid for what ProcessProblem says or a capability the caller itself does not have; from reading.
Result<os::ProcessSpec> SpecOf(const ShimRequest& request);

/// A command run in a container that runs, with the user, groups, capabilities and filters the container's own process
/// was started with, in its groups and mount namespace, with its environment and working directory.
struct InsideSpec {
  os::ProcessSpec spec;
  os::UniqueFd mount_namespace;  ///< has to live until spec is spawned
};
/// For berthd. `pid` and `pidfd` are the container's process. Requires: command is not empty. Errors: kNotFound when
/// that has ended; as SpecOf.
Result<InsideSpec> SpecInside(const ShimRequest& request, int pid, const os::UniqueFd& pidfd,
                              std::vector<std::string> command);

}  // namespace berth::runtime

#endif  // BERTH_RUNTIME_PROCESS_PROCESS_SPEC_H_
