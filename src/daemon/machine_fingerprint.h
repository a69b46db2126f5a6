// A short text that changes when the parts of a machine that decisions rest on change.
#ifndef BERTH_DAEMON_MACHINE_FINGERPRINT_H_
#define BERTH_DAEMON_MACHINE_FINGERPRINT_H_

#include <string>

#include "model/machine.h"

namespace berth::daemon {

/// 16 hex digits over CPUs, cores, nodes, memory and huge pages; not over names, PCI devices and the boot id.
std::string MachineFingerprint(const Machine& machine);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_MACHINE_FINGERPRINT_H_
