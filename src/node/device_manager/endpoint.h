// Calls to one device plug-in at its socket.
#ifndef BERTH_NODE_DEVICE_MANAGER_ENDPOINT_H_
#define BERTH_NODE_DEVICE_MANAGER_ENDPOINT_H_

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/loop_thread.h"
#include "base/result.h"
#include "host/os/clock.h"
#include "host/os/event_fd.h"
#include "node/device_manager/device_plugin_messages.h"
#include "rpc/grpc/grpc_client.h"

namespace berth::device_manager {

/// How long plug-ins are waited for.
struct Patience {
  os::Millis greet{10'000};     ///< for its socket, and its options
  os::Millis allocate{30'000};  ///< likewise for GetPreferredAllocation
  os::Millis pre_start{30'000};
  os::Millis pause{20};       ///< between two lists of one plug-in
  os::Millis grace{300'000};  ///< that a plug-in may be away before its resource is gone
};

/// One plug-in, from its registration until it is gone or has registered anew. Thread: any; none of the calls is under
/// way when it is destroyed.
class Endpoint {
 public:
  /// `name`: what the socket at `path` is called. Errors: as eventfd(2).
  static Result<std::shared_ptr<Endpoint>> Make(std::string resource, const std::string& path, std::string name,
                                                const Patience& patience);

  const std::string& resource() const { return resource_; }
  const std::string& name() const { return name_; }

  /// Waits until it can be connected to, and asks what it wants. Errors: kTimeout, kCancelled (Stop), kInvalid, its
  /// own.
  Result<PluginOptions> Greet();
  /// Hands on each list of devices, until the plug-in ends that or is gone, or Stop. Returns why; never success.
  Error Watch(const NodeSet& nodes, const std::function<void(DeviceList)>& told);

  /// Errors: as of Plugins. Of one that has been stopped: kUnreachable.
  Result<DeviceAnswer> Allocate(const std::vector<std::string>& ids) BERTH_EXCLUDES(loop_thread);
  Result<void> PreStart(const std::vector<std::string>& ids) BERTH_EXCLUDES(loop_thread);
  Result<std::vector<std::string>> Prefer(const PreferenceQuestion& question) BERTH_EXCLUDES(loop_thread);

  /// Calls that are under way are given up, and no other is made.
  void Stop();
  bool stopped() const { return stopped_; }

 private:
  Endpoint(std::string resource, const std::string& path, std::string name, const Patience& patience, os::EventFd stop);
  Result<std::string> Call(const std::string& method, const std::string& request, os::MonoTime deadline);
  Result<std::string> Ask(const std::string& method, const std::string& request, os::Millis limit);
  Error HasStopped() const;

  const std::string resource_;
  const std::string name_;
  const Patience patience_;
  const os::EventFd stop_;
  std::atomic<bool> stopped_ = false;
  grpc::Client client_;
};

}  // namespace berth::device_manager

#endif  // BERTH_NODE_DEVICE_MANAGER_ENDPOINT_H_
