// Devices that the settings name, to be given out without a plug-in: localDevices.
#ifndef BERTH_MANIFEST_LOCAL_DEVICE_READER_H_
#define BERTH_MANIFEST_LOCAL_DEVICE_READER_H_

#include <vector>

#include "manifest/field_reader.h"
#include "model/local_devices.h"

namespace berth::manifest {

/// The list `localDevices`; each rule checked.
void ReadLocalDevices(Object& object, std::vector<LocalDeviceRule>& out);

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_LOCAL_DEVICE_READER_H_
