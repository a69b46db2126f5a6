// A client of a kubelet's pod resources API: the devices that the kubelet has given to containers.
#ifndef BERTH_KUBERNETES_POD_RESOURCES_POD_RESOURCES_CLIENT_H_
#define BERTH_KUBERNETES_POD_RESOURCES_POD_RESOURCES_CLIENT_H_

#include <string>

#include "base/loop_thread.h"
#include "base/result.h"
#include "host/os/clock.h"
#include "model/pod_devices.h"
#include "rpc/grpc/grpc_client.h"

namespace berth::pod_resources {

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
  /// Errors, within `patience`: as grpc::Client::Call; kCorrupt: the answer cannot be read.
  Result<PodDevices> DevicesOf(const std::string& name_space, const std::string& name, os::Millis patience)
      BERTH_EXCLUDES(loop_thread);
  /// Of all pods, by List. Errors: likewise.
  Result<DevicesByPod> AllDevices(os::Millis patience) BERTH_EXCLUDES(loop_thread);

 private:
  Result<PodDevices> Get(const std::string& name_space, const std::string& name, const grpc::Patience& patience);
  Result<DevicesByPod> List(const grpc::Patience& patience);

  const os::Clock& clock_;
  grpc::Client client_;
  os::MonoTime next_get_{};
};

}  // namespace berth::pod_resources

#endif  // BERTH_KUBERNETES_POD_RESOURCES_POD_RESOURCES_CLIENT_H_
