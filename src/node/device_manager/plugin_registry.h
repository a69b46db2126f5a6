// Device plug-ins that do not register but are found by their sockets in a folder, the kubelet's plugins_registry, and
// asked who they are.
#ifndef BERTH_NODE_DEVICE_MANAGER_PLUGIN_REGISTRY_H_
#define BERTH_NODE_DEVICE_MANAGER_PLUGIN_REGISTRY_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "host/os/clock.h"
#include "host/os/event_fd.h"
#include "host/os/threads.h"
#include "node/device_manager/device_plugin_messages.h"
#include "node/device_manager/endpoint.h"

namespace berth::device_manager {

/// What becomes of those that are found. All are called on threads of the registry, for one socket one after the other.
struct RegistryCalls {
  /// `found.endpoint` is an absolute path. Whether there is an error is told to the plug-in, and then it is tried again
  /// later.
  std::function<Result<std::shared_ptr<Endpoint>>(const PluginInfo& found)> join;
  /// The socket of what joined went, or another is there in its place. True: nobody serves the resource now.
  std::function<bool(const std::shared_ptr<Endpoint>& joined)> part;
  std::function<void(const Error& why)> unwatched;  ///< the folder cannot be watched; it is still looked at
};

class PluginRegistry {
 public:
  /// Looks at sockets in `folder` from now on, not at those whose names begin with a dot, nor in folders below it.
  /// Plug-ins of other types are left alone. Errors: as eventfd(2); kExhausted: no thread is to be had.
  static Result<std::unique_ptr<PluginRegistry>> Start(std::string folder, RegistryCalls calls);
  ~PluginRegistry();
  PluginRegistry(const PluginRegistry&) = delete;
  PluginRegistry& operator=(const PluginRegistry&) = delete;

 private:
  struct Socket {
    std::string stamp;  // another one of the same name has another
    bool asking = false;
    os::MonoTime due{};  // asked then; max: never again
    os::Millis pause{};
    std::shared_ptr<Endpoint> joined{};
  };

  PluginRegistry(std::string folder, RegistryCalls calls, os::EventFd stop, os::EventFd again);
  void Run() BERTH_EXCLUDES(mutex_);
  os::MonoTime Look() BERTH_EXCLUDES(mutex_);
  void AskOthers(const std::string& resource, os::MonoTime now) BERTH_EXCLUDES(mutex_);
  std::map<std::string, std::string> SocketsThere() const;
  void Ask(const std::string& name) BERTH_EXCLUDES(mutex_);
  Result<std::shared_ptr<Endpoint>> Introduce(const std::string& path) const;

  const std::string folder_;
  const RegistryCalls calls_;
  const os::EventFd stop_;
  const os::EventFd again_;  // an answer is there
  Mutex mutex_;
  std::map<std::string, Socket> sockets_ BERTH_GUARDED_BY(mutex_);
  os::Threads threads_;  // one looks, the others ask
};

}  // namespace berth::device_manager

#endif  // BERTH_NODE_DEVICE_MANAGER_PLUGIN_REGISTRY_H_
