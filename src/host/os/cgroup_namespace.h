// Cgroup namespace of process 1, for a program in a container that sees the host's processes.
#ifndef BERTH_HOST_OS_CGROUP_NAMESPACE_H_
#define BERTH_HOST_OS_CGROUP_NAMESPACE_H_

#include "base/result.h"

namespace berth::os {

/// From now on the calling thread, and those it starts, see cgroups as process 1 does: /proc names them from the host's
/// top, and on cgroup v2 mounted with nsdelegate they may write the values of their own group, which a process in a
/// namespace of its own may not. Returns whether that was another namespace. Errors: as setns(2), for which it takes
/// CAP_SYS_ADMIN, and CAP_SYS_PTRACE to look at process 1; nothing has changed then.
Result<bool> EnterCgroupNamespaceOfInit();

}  // namespace berth::os

#endif  // BERTH_HOST_OS_CGROUP_NAMESPACE_H_
