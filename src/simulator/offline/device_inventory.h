// Devices of a simulated machine, as a person writes them down.
#ifndef BERTH_SIMULATOR_OFFLINE_DEVICE_INVENTORY_H_
#define BERTH_SIMULATOR_OFFLINE_DEVICE_INVENTORY_H_

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/device.h"

namespace berth::offline {

/// A device inventory, YAML or JSON: resource -> list of {id, numa (ids), healthy}. Errors: kInvalid with the path.
Result<DeviceInventory> ParseDeviceInventory(std::string_view text, const std::string& file);

}  // namespace berth::offline

#endif  // BERTH_SIMULATOR_OFFLINE_DEVICE_INVENTORY_H_
