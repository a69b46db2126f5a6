// Devices of a host whose pods Berth runs: the server that device plug-ins register with, and devices that settings
// name.
#ifndef BERTH_DAEMON_NODE_DEVICES_H_
#define BERTH_DAEMON_NODE_DEVICES_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/settings.h"
#include "host/os/fs.h"
#include "model/machine.h"
#include "node/checkpoint/store.h"
#include "node/device_manager/local_plugins.h"
#include "node/device_manager/plugin_server.h"
#include "rpc/http/call.h"

namespace berth::daemon {

/// Thread: one.
class NodeDevices {
 public:
  /// A node without devices goes on: what cannot be opened is somebody else's, or wrong in its settings, and said in
  /// `warnings`. `root`: the file system "/". `saved`: whose devices are waited for.
  NodeDevices(const Settings& settings, const Machine& machine, os::Fs& root,
              const std::optional<checkpoint::Saved>& saved, http::LostSocketTeller on_lost_socket,
              std::vector<std::string>& warnings);

  /// nullptr: there are none.
  device_manager::Plugins* plugins() const { return with_local_ ? with_local_.get() : server_.get(); }
  /// Calls of plug-ins under way come back at once.
  void GiveUp() {
    if (server_) server_->GiveUp();
  }

 private:
  Result<void> OpenServer(const Settings& settings, const Machine& machine,
                          const std::optional<checkpoint::Saved>& saved, http::LostSocketTeller on_lost_socket);
  Result<void> OpenLocal(const std::vector<LocalDeviceRule>& rules, os::Fs& root);

  std::unique_ptr<device_manager::PluginServer> server_;  // null: no folder for device plug-ins
  std::unique_ptr<device_manager::Plugins> with_local_;   // null: the settings name no devices
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_NODE_DEVICES_H_
