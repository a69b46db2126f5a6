// A machine as a short exact text: every fact that decisions or people use, one line each. For golden files and diffs.
#ifndef BERTH_HOST_MACHINE_DESCRIBE_H_
#define BERTH_HOST_MACHINE_DESCRIBE_H_

#include <string>

#include "model/machine.h"

namespace berth::machine {

/// Lines end in a newline; order and wording are stable. Not included: source, this_host, boot_id, what PCI devices
/// hang on.
std::string Describe(const Machine& machine);

}  // namespace berth::machine

#endif  // BERTH_HOST_MACHINE_DESCRIBE_H_
