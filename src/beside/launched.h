// Refusal of a berthd that a container runtime started as a pre-installed NRI plug-in: joins, lets the runtime start,
// leaves.
#ifndef BERTH_BESIDE_LAUNCHED_H_
#define BERTH_BESIDE_LAUNCHED_H_

#include "base/result.h"
#include "nri/launch.h"

namespace berth::beside {

/// Is taken in by the runtime, lets everything pass, and leaves: a runtime does not start when a plug-in that it has
/// launched ends before that. Errors: as nri::Plugin::Start; kTimeout: it was not taken in. Thread: any; waits.
Result<void> LeaveLaunched(const nri::Launch& launch);

}  // namespace berth::beside

#endif  // BERTH_BESIDE_LAUNCHED_H_
