// Device grants of a container: variables, mounts, device nodes and annotations of all its devices together. Pure, but
// for CheckThere.
#ifndef BERTH_RUNTIME_LIFECYCLE_DEVICE_GRANTS_H_
#define BERTH_RUNTIME_LIFECYCLE_DEVICE_GRANTS_H_

#include <string>
#include <vector>

#include "base/result.h"
#include "model/device.h"
#include "model/placement.h"
#include "runtime/lifecycle/env.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::runtime {

struct DeviceGrants {
  DeviceAnswer all;                    ///< without the devices' nodes
  std::vector<std::string> conflicts;  ///< "env GPUS of vendor.example/b: vendor.example/a says it first"
};

/// Of several resources that say the same variable, annotation or path inside the container, the first by name is
/// followed (a kubelet: any of them). What has no answer (yet) brings nothing. Errors: kInvalid naming resource and
/// path, for paths that are not absolute or have ".." in them, and naming resource and variable, for variables no
/// program can have.
Result<DeviceGrants> GrantsOf(const std::vector<DeviceAssignment>& devices);

/// The variables of the devices, then those of the pod, which win.
Environment WithDevices(const DeviceAnswer& devices, Environment own);

/// The mounts of the devices, then those of the pod, which win. Adds to `conflicts` what was left out.
std::vector<BoundMount> WithDevices(const DeviceAnswer& devices, std::vector<BoundMount> own,
                                    std::vector<std::string>& conflicts);

/// Errors: kNotFound, kInvalid for a device node of the host that is not there or none.
Result<void> CheckThere(const std::vector<DeviceNode>& nodes);

}  // namespace berth::runtime

#endif  // BERTH_RUNTIME_LIFECYCLE_DEVICE_GRANTS_H_
