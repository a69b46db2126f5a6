// Being told when memory runs short, instead of looking often: pressure stall information (Linux 4.20).
#ifndef BERTH_HOST_OS_PSI_TRIGGER_H_
#define BERTH_HOST_OS_PSI_TRIGGER_H_

#include <string>

#include "base/result.h"
#include "host/os/clock.h"
#include "host/os/unique_fd.h"

namespace berth::os {

/// A descriptor that becomes ready for EPOLLPRI when tasks were stalled for `stall` within `window`, at most once a
/// window. `file`: "/proc/pressure/memory" or a cgroup's memory.pressure. Errors: kNotFound, kUnsupported (the kernel
/// keeps none), kPermission.
Result<UniqueFd> OpenPressureTrigger(const std::string& file, Millis stall, Millis window);

}  // namespace berth::os

#endif  // BERTH_HOST_OS_PSI_TRIGGER_H_
