// Devices that the settings name, to be given out without a plug-in: localDevices.
#ifndef BERTH_CONFIG_LOCAL_DEVICE_READER_H_
#define BERTH_CONFIG_LOCAL_DEVICE_READER_H_

#include <vector>

#include "manifest/field_reader.h"
#include "model/local_devices.h"

namespace berth::config {

/// The list `localDevices`; each rule checked.
void ReadLocalDevices(manifest::Object& object, std::vector<LocalDeviceRule>& out);

}  // namespace berth::config

#endif  // BERTH_CONFIG_LOCAL_DEVICE_READER_H_
