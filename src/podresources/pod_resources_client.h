// A client of a kubelet's pod resources API: the devices that the kubelet has given to containers.
#ifndef BERTH_PODRESOURCES_POD_RESOURCES_CLIENT_H_
#define BERTH_PODRESOURCES_POD_RESOURCES_CLIENT_H_

#include <string>

#include "base/result.h"
#include "model/pod_devices.h"
#include "os/clock.h"
#include "wire/grpc_client.h"

namespace berth::podresources {

/// Devices of apps and sidecars: the API has no other containers, and neither the health of devices nor NUMA nodes of
/// those of a ResourceClaim, which are left out. Nodes may be none of the machine's.
///
/// Thread: any, one call at a time.
class PodResourcesClient {
 public:
  /// `socket`: an absolute path. Connects at the first call. `clock` outlives this.
  PodResourcesClient(const std::string& socket, const os::Clock& clock);

  /// Of one pod; {}: the kubelet does not know it, or its containers have none. Asked by Get, and by List where the
  /// kubelet does not answer that: before Kubernetes 1.34 as a rule. It is asked by List alone for ten minutes then.
  /// Errors, within `patience`: as wire::Client::Call; kCorrupt: the answer cannot be read.
  Result<PodDevices> DevicesOf(const std::string& name_space, const std::string& name, os::Millis patience);
  /// Of all pods, by List. Errors: likewise.
  Result<DevicesByPod> AllDevices(os::Millis patience);

 private:
  Result<PodDevices> Get(const std::string& name_space, const std::string& name, const wire::Patience& patience);
  Result<DevicesByPod> List(const wire::Patience& patience);

  const os::Clock& clock_;
  wire::Client client_;
  os::MonoTime next_get_{};
};

}  // namespace berth::podresources

#endif  // BERTH_PODRESOURCES_POD_RESOURCES_CLIENT_H_
