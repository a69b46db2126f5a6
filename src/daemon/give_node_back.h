// A node beside a kubelet as it was before berthd came: for who takes it off the node.
#ifndef BERTH_DAEMON_GIVE_NODE_BACK_H_
#define BERTH_DAEMON_GIVE_NODE_BACK_H_

#include <cstddef>

#include "base/result.h"
#include "daemon/settings.h"

namespace berth::daemon {

/// Every container on all CPUs and memory nodes, in the kernel and in the runtime's record; then the folders of state
/// and of what runs are removed. Returns how many containers there were. Errors: kInvalid: the settings say no runtime
/// "nri"; kInUse: berthd runs; else as nri_agent::GiveBack, and the folders stay.
Result<std::size_t> GiveNodeBack(const Settings& settings);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_GIVE_NODE_BACK_H_
