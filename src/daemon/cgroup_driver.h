// Cgroup driver detection (cgroupfs or systemd), from this host and the settings.
#ifndef BERTH_DAEMON_CGROUP_DRIVER_H_
#define BERTH_DAEMON_CGROUP_DRIVER_H_

#include <optional>

#include "base/result.h"
#include "daemon/settings.h"
#include "host/cgroup/cgroup.h"
#include "host/cgroup/cgroup_names.h"
#include "host/os/fs.h"

namespace berth::daemon {

/// Looks at what runs as process 1, at `layout` and at the cgroup root; `root_fs` is "/". Changes nothing.
/// Errors: those of cgroup::ChooseDriver; kUnsupported also when pods of the other driver still run, because nobody
/// would keep them off exclusive CPUs.
Result<cgroup::Driver> FindDriver(os::Fs& root_fs, const cgroup::Layout& layout, const Settings& settings);
/// The same, with this host's layout; nullopt: there are no cgroups Berth could use.
Result<std::optional<cgroup::Driver>> FindDriver(const Settings& settings);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_CGROUP_DRIVER_H_
