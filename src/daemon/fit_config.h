// Settings that name CPUs or NUMA nodes this machine no longer has.
#ifndef BERTH_DAEMON_FIT_CONFIG_H_
#define BERTH_DAEMON_FIT_CONFIG_H_

#include <string>
#include <vector>

#include "model/kubelet_config.h"
#include "model/machine.h"

namespace berth::daemon {

/// Makes reservations fit a machine that lost CPUs or nodes since they were written, so that a node that ran before
/// starts again. Pure. Reserved CPUs that are not there are left out (are none left, as many of the lowest ones are
/// reserved instead; one CPU always stays for pods); memory reserved on a node that is gone is reserved on the lowest
/// one. Returns what was changed, a sentence each; empty: everything named exists.
std::vector<std::string> FitToMachine(KubeletConfiguration& config, const Machine& machine);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_FIT_CONFIG_H_
