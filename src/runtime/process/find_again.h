// Containers that an earlier runtime left in the run directory, found again by their records
// (docs/design/process-runtime.md). Internal to the component.
#ifndef BERTH_RUNTIME_PROCESS_FIND_AGAIN_H_
#define BERTH_RUNTIME_PROCESS_FIND_AGAIN_H_

#include <vector>

#include "base/result.h"
#include "model/cgroup_values.h"
#include "runtime/process/held.h"
#include "runtime/process/launcher.h"

namespace berth::runtime {

/// All of them, with handles of what still runs. Records of which nothing was started are removed; supervisors are
/// moved into `shim_cgroup`, which may be another group than when they were started. Waits for one in the middle of its
/// start, Launcher::kSettleLimit at most, then kills it.
/// Errors: it cannot be told what became of a container; its record stays as it is, the message names it.
Result<std::vector<Held>> FindAgain(Launcher& launcher, const CgroupDirs& shim_cgroup);

}  // namespace berth::runtime

#endif  // BERTH_RUNTIME_PROCESS_FIND_AGAIN_H_
