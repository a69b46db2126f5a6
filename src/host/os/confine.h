// Confinement of a program before it is executed: no means to change in which cgroups it and others are.
#ifndef BERTH_HOST_OS_CONFINE_H_
#define BERTH_HOST_OS_CONFINE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace berth::os {

/// What is taken. A program that runs as root without these can
/// - write no file of a cgroup mount there is now: in a mount namespace of its own they are read-only. Mounts that the
///   host makes or takes away later arrive there as far as they are shared (/ is, under systemd); none goes out.
/// - make no user namespace and enter no namespace at all (seccomp), in which it could mount cgroups anew.
/// Without CAP_SYS_ADMIN and CAP_SYS_PTRACE, which are its Identity's matter, it cannot undo that. It can still ask
/// somebody who has the means, open the host's files through /proc/PID/root of a process that has no capability it
/// lacks, load modules, write disks and settings of the kernel.
struct Confinement {
  struct CgroupMount {
    std::string path;
    unsigned long flags = 0;  ///< of mount(2), as it is mounted
  };
  int enter_fd = -1;  ///< a mount namespace to enter; -1: one of its own is made, with `mounts` read-only
  std::vector<CgroupMount> mounts;
  bool bar_namespaces = true;
};

/// For this host, as the caller sees it. Errors: the list of mounts cannot be read.
Result<Confinement> PlanConfinement();

enum class ConfineStep : std::int32_t { kMountNamespace, kEnter, kPropagation, kReadOnly, kSeccomp };
std::string_view Name(ConfineStep step);  ///< for people: what it does

/// What went wrong; `sys` 0: nothing.
struct ConfineFailure {
  ConfineStep step = ConfineStep::kMountNamespace;
  int sys = 0;
};

/// For the child between clone and exec, with one thread: makes system calls only. All or a part may be done after a
/// failure.
ConfineFailure Confine(const Confinement& confinement);

/// Whether the caller (or the kernel) lacks what Confine needs, so that trying again is in vain.
bool CannotConfine(const ConfineFailure& failure);

}  // namespace berth::os

#endif  // BERTH_HOST_OS_CONFINE_H_
