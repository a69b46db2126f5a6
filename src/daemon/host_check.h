// Preflight checks of this host against the kubelet's settings (failSwapOn, ...), before anything is touched.
#ifndef BERTH_DAEMON_HOST_CHECK_H_
#define BERTH_DAEMON_HOST_CHECK_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/settings.h"
#include "host/cgroup/cgroup.h"
#include "host/cgroup/cgroup_names.h"
#include "host/os/fs.h"

namespace berth::daemon {

/// A sentence each, that begins with the setting.
struct HostFindings {
  std::vector<std::string> problems;  ///< berthd does not start with them
  std::vector<std::string> warnings;
};

/// failSwapOn, failCgroupV1, protectKernelDefaults, qosReserved, the groups of enforceNodeAllocatable, kubeletCgroups.
/// `root` is "/". Changes nothing.
HostFindings CheckHost(os::Fs& root, const Settings& settings, const cgroup::Layout& layout, cgroup::Driver driver);

/// Whether the socket of a container runtime is there, where the runtime is one. A start waits for it, so this is for
/// who only asks. Errors: kInvalid naming the setting.
Result<void> CheckRuntimeSocket(os::Fs& root, const Settings& settings);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_HOST_CHECK_H_
