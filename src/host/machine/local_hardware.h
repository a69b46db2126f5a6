// Hardware that settings may give out without a plug-in: PCI functions with what the kernel has behind them, and device
// nodes named by path.
#ifndef BERTH_HOST_MACHINE_LOCAL_HARDWARE_H_
#define BERTH_HOST_MACHINE_LOCAL_HARDWARE_H_

#include <vector>

#include "base/loop_thread.h"
#include "base/result.h"
#include "host/os/fs.h"
#include "model/local_devices.h"

namespace berth::machine {

/// `root` is a host's root folder (or a tree captured from one). Nodes are those the rules' paths mean, of which the
/// kernel knows what they are; a link in their folder counts under its own name. Thread: any but the loop's. Errors:
/// from reading.
Result<LocalHardware> ReadLocalHardware(os::Fs& root, const std::vector<LocalDeviceRule>& rules)
    BERTH_EXCLUDES(loop_thread);

}  // namespace berth::machine

#endif  // BERTH_HOST_MACHINE_LOCAL_HARDWARE_H_
