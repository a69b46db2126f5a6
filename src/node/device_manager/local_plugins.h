// Device plug-ins, and beside them the devices that settings name, which need none.
#ifndef BERTH_NODE_DEVICE_MANAGER_LOCAL_PLUGINS_H_
#define BERTH_NODE_DEVICE_MANAGER_LOCAL_PLUGINS_H_

#include <memory>
#include <vector>

#include "model/local_devices.h"
#include "node/device_manager/plugins.h"

namespace berth::device_manager {

/// What `plugins` knows (nullptr: no plug-in can register), and the resources of `rules`, about which it is not asked:
/// a plug-in that registers one of them is not heard, and a note says so. `hardware`: as it was found at the start.
/// `plugins` outlives what is returned. Errors: as eventfd(2).
Result<std::unique_ptr<Plugins>> WithLocalDevices(Plugins* plugins, std::vector<LocalDeviceRule> rules,
                                                  LocalHardware hardware);

}  // namespace berth::device_manager

#endif  // BERTH_NODE_DEVICE_MANAGER_LOCAL_PLUGINS_H_
