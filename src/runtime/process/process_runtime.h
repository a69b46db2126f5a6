// The embedded runtime: a container is a process in its cgroup, kept by a small supervisor (berth-shim).
//
// The supervisor outlives the daemon: it keeps the output flowing, reaps the process and leaves its exit code in a
// record. Records live in <run_dir>/containers/<id>/ (docs/design/process-runtime.md). A process is found again by
// record, pid, start time and cgroup, then held by a pidfd; never signalled by pid.
#ifndef BERTH_RUNTIME_PROCESS_PROCESS_RUNTIME_H_
#define BERTH_RUNTIME_PROCESS_PROCESS_RUNTIME_H_

#include <memory>
#include <string>

#include "base/result.h"
#include "host/event_loop/executor.h"
#include "host/os/clock.h"
#include "model/cgroup_values.h"
#include "runtime/lifecycle/runtime.h"
#include "runtime/process/process_spec.h"

namespace berth::runtime {

struct ProcessRuntimeOptions {
  std::string run_dir;     ///< absolute; made (0700) when missing. On a tmpfs (/run/berth) records end with the boot
  std::string shim_path;   ///< absolute path of the program berth-shim
  CgroupDirs shim_cgroup;  ///< where supervisors live (Berth's own cgroup); no dirs: where the caller is
  event_loop::Executor& executor;     ///< starts containers and removes records; outlives the runtime
  os::Millis start_deadline{30'000};  ///< longest time a start may take: its process may have little CPU time
  SeccompCompiler seccomp;            ///< none: a container that names a profile is not started
};

/// Opens the runtime on its directory and finds containers again. What a killed daemon left half-started is removed.
/// Errors: kInUse when another process has this directory open, kPermission, kNotFound (shim), kIo.
/// Ownership: containers go on when the Runtime is destroyed; opening the directory again finds them.
/// Start and Forget return at once; a start's end comes through Poll. One that is under way when the Runtime is
/// destroyed goes on, and the next opening finds it. Thread: the Runtime belongs to one thread, that of the executor's
/// ends.
Result<std::unique_ptr<Runtime>> OpenProcessRuntime(const ProcessRuntimeOptions& options);

}  // namespace berth::runtime

#endif  // BERTH_RUNTIME_PROCESS_PROCESS_RUNTIME_H_
