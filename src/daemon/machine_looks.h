// Machine re-detection: the functions by which berthd reads its host's machine again while it runs.
#ifndef BERTH_DAEMON_MACHINE_LOOKS_H_
#define BERTH_DAEMON_MACHINE_LOOKS_H_

#include "daemon/settings.h"
#include "node/reconciler/machine_reconciler.h"

namespace berth::daemon {

/// Looks at this host, under these settings. What they return reads files of the host; thread: any, one at a time.
reconciler::MachineOptions LooksAtMachine(Settings settings);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_MACHINE_LOOKS_H_
