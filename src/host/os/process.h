// The start of a program in its place: in its cgroup, on its CPUs, with exactly the environment and descriptors given,
// from its first instruction on.
#ifndef BERTH_HOST_OS_PROCESS_H_
#define BERTH_HOST_OS_PROCESS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "host/os/confine.h"
#include "host/os/identity.h"
#include "host/os/own_mounts.h"
#include "host/os/unique_fd.h"

namespace berth::os {

struct ProcessSpec {
  std::vector<std::string> argv;  ///< argv[0] is the program; without "/" it is looked up in search_path
  std::vector<std::string> env;   ///< "NAME=value", nothing is added
  std::string search_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  std::string working_dir;  ///< "": the caller's
  /// Absolute directories of cgroups to start in. `cgroup_v2`: exactly one, entered by clone3(CLONE_INTO_CGROUP); else
  /// the child enters them one by one. Either way it is in all of them before its program is executed, may run on
  /// every CPU they allow (an inherited affinity is dropped) and on no other (checked).
  std::vector<std::string> cgroup_dirs;
  bool cgroup_v2 = false;
  std::optional<int> oom_score_adj;  ///< best effort: failing is a warning
  /// Best effort where the caller has no such rights itself, or the kernel no such thing: a warning.
  std::optional<Confinement> confinement;
  OwnMounts mounts;  ///< empty: the caller's, or those of the namespace it enters
  /// From the moment it enters its working directory on, which it has to be able to.
  Identity identity;
  int stdin_fd = -1;  ///< -1: /dev/null
  int stdout_fd = -1;
  int stderr_fd = -1;
  int extra_fd = -1;  ///< becomes descriptor 3; -1: none
};

struct Process {
  int pid = 0;
  UniqueFd pidfd;
  std::uint64_t start_ticks = 0;  ///< as os::StartTicksOf
  std::vector<std::string> warnings;
  /// Set when the spec's own words are at fault (program missing or not executable, working directory, mounts or an
  /// identity the caller cannot give): nothing runs.
  std::optional<Error> refused;
};

/// Starts a process: own session, no terminal, umask 022, default signal dispositions, nothing blocked, no descriptors
/// but the ones given. Returns when the program is executing. Requires: argv is not empty. The caller's other threads
/// may do anything meanwhile. Errors: kNotFound, kPermission, kExhausted, ... when it cannot be put in place; nothing
/// is left behind. Ownership: the process is the caller's child and has to be reaped; it outlives the caller.
Result<Process> Spawn(const ProcessSpec& spec);

/// Raises this process's own limit of open files to the most it may have. What Spawn starts gets the old limit back.
void RaiseOpenFiles();

}  // namespace berth::os

#endif  // BERTH_HOST_OS_PROCESS_H_
