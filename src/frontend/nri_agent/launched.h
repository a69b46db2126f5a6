// Refusal of a berthd that a container runtime started as a pre-installed NRI plug-in: joins, lets the runtime start,
// leaves.
#ifndef BERTH_FRONTEND_NRI_AGENT_LAUNCHED_H_
#define BERTH_FRONTEND_NRI_AGENT_LAUNCHED_H_

#include "base/result.h"
#include "host/os/clock.h"
#include "rpc/nri/launch.h"

namespace berth::nri_agent {

/// Is taken in by the runtime, lets everything pass, and leaves: a runtime does not start when a plug-in that it has
/// launched ends before that. `asked`: so long it waits to be asked what it makes of all there is, which some runtimes
/// do at once, and others (containerd 1.7) never of a plug-in that they launched; and so long again for the runtime to
/// read the answer, for which runtimes wait two seconds. Errors: as nri::Plugin::Start; kTimeout: it was not taken in
/// within `taken_in`. Thread: any; waits, until the runtime ends at most.
Result<void> LeaveLaunched(const nri::Launch& launch, os::Millis asked = os::Millis(3'000),
                           os::Millis taken_in = os::Millis(15'000));

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_LAUNCHED_H_
