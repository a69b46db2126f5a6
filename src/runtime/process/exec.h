// A command run in a container of the process runtime: in its groups, its mounts, as who it is.
#ifndef BERTH_RUNTIME_PROCESS_EXEC_H_
#define BERTH_RUNTIME_PROCESS_EXEC_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "host/os/clock.h"
#include "host/os/unique_fd.h"
#include "runtime/lifecycle/runtime.h"
#include "runtime/process/record.h"

namespace berth::runtime {

/// Runs the command and waits for its end; after `limit`, and when `cancel_fd` (as ExecJob has it) says so, it is
/// killed with all of its process group. `pid` and `main` are the container's process. What it leaves in the background
/// ends with the container. Errors: kTimeout, kCancelled, kNotFound: the container has ended; else as os::Spawn. A
/// command that cannot be executed has ended with exit code 126 or 127, as a shell says it. Thread: any.
Result<ExecEnd> ExecInside(const ShimRequest& request, int pid, const os::UniqueFd& main,
                           const std::vector<std::string>& command, os::Millis limit, int cancel_fd);

}  // namespace berth::runtime

#endif  // BERTH_RUNTIME_PROCESS_EXEC_H_
