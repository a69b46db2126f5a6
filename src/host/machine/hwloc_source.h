// Machines through libhwloc: XML, synthetic text, and this host where its /sys does not say enough.
#ifndef BERTH_HOST_MACHINE_HWLOC_SOURCE_H_
#define BERTH_HOST_MACHINE_HWLOC_SOURCE_H_

#include <string>

#include "base/result.h"
#include "model/machine.h"

namespace berth::machine {

/// What hwloc finds on this host, CPUs outside this process' cpuset included. this_host and boot_id are not set.
/// Errors: kIo when hwloc cannot look at this host (environment variables may have turned it elsewhere).
Result<Machine> HwlocThisHost(std::string source);

}  // namespace berth::machine

#endif  // BERTH_HOST_MACHINE_HWLOC_SOURCE_H_
