// Preflight checks of permissions, cgroup hierarchies and controllers that berthd needs, before anything is touched.
#ifndef BERTH_DAEMON_START_CHECK_H_
#define BERTH_DAEMON_START_CHECK_H_

#include <string>
#include <vector>

#include "daemon/settings.h"

namespace berth::daemon {

/// What is missing: rights to its folders, cgroup hierarchies, controllers, the right to make groups. A sentence each,
/// with the cure; empty: nothing. Changes nothing. A dry run needs only its folders.
std::vector<std::string> WhatIsMissing(const Settings& settings);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_START_CHECK_H_
