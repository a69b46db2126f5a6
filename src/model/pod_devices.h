// Devices that somebody else, a kubelet, has given to the containers of pods.
#ifndef BERTH_MODEL_POD_DEVICES_H_
#define BERTH_MODEL_POD_DEVICES_H_

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "model/device.h"

namespace berth {

/// By container.
using PodDevices = std::map<std::string, DeviceInventory, std::less<>>;
/// Of many pods, by namespace and name.
using DevicesByPod = std::map<std::pair<std::string, std::string>, PodDevices>;

}  // namespace berth

#endif  // BERTH_MODEL_POD_DEVICES_H_
