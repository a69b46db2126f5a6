// Device plug-in registration server on the kubelet's socket (kubelet.sock), and the plug-ins that registered.
#ifndef BERTH_NODE_DEVICE_MANAGER_PLUGIN_SERVER_H_
#define BERTH_NODE_DEVICE_MANAGER_PLUGIN_SERVER_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/id_set.h"
#include "base/loop_thread.h"
#include "base/mutex.h"
#include "host/os/event_fd.h"
#include "host/os/threads.h"
#include "node/device_manager/endpoint.h"
#include "node/device_manager/plugin_registry.h"
#include "node/device_manager/plugins.h"
#include "rpc/grpc/grpc_server.h"

namespace berth::device_manager {

struct ServerOptions {
  std::string folder;    ///< absolute; made when it is not there
  std::string registry;  ///< likewise, where plug-ins are found by their sockets; "": nowhere. An extra: a Note
                         ///< says why nobody looks there
  NodeSet nodes;         ///< the machine's
  std::set<std::string> awaited;  ///< resources that were there before: their plug-ins are waited for
  Patience patience;
  grpc::LostSocketTeller on_lost_socket{};  ///< as grpc::ServerOptions has it
};

/// Where a kubelet that has plug-ins register in `folder` looks for others: "plugins_registry" beside it.
std::string RegistryBeside(std::string_view folder);

/// Thread: any.
class PluginServer final : public Plugins {
 public:
  /// Removes all sockets of the folder, so that plug-ins see that they have to register, and listens at kubelet.sock.
  /// Errors: kInUse: a kubelet, or another berthd, listens there, and nothing was touched; of the folder and the
  /// socket.
  static Result<std::unique_ptr<PluginServer>> Start(ServerOptions options);
  ~PluginServer() override;
  PluginServer(const PluginServer&) = delete;
  PluginServer& operator=(const PluginServer&) = delete;

  int event_fd() const override { return changed_.get(); }
  std::shared_ptr<const Known> known() const override BERTH_EXCLUDES(mutex_);
  std::vector<Note> TakeNotes() override BERTH_EXCLUDES(mutex_);
  DeviceFigures figures() const override BERTH_EXCLUDES(mutex_);
  os::MonoTime next_due() const override BERTH_EXCLUDES(mutex_);
  void Forget(os::MonoTime now) override BERTH_EXCLUDES(mutex_);
  Result<DeviceAnswer> Allocate(const std::string& resource, const std::vector<std::string>& ids) override
      BERTH_EXCLUDES(mutex_, loop_thread);
  Result<void> PreStart(const std::string& resource, const std::vector<std::string>& ids) override
      BERTH_EXCLUDES(mutex_, loop_thread);
  Result<std::vector<std::string>> Prefer(const std::string& resource, const PreferenceQuestion& question) override
      BERTH_EXCLUDES(mutex_, loop_thread);

  /// Whoever waits for a plug-in gets an error at once, and nobody can register any more.
  void GiveUp() BERTH_EXCLUDES(mutex_);

 private:
  using EndpointPtr = std::shared_ptr<Endpoint>;
  struct Resource {
    EndpointPtr endpoint;  // null: none has registered since the start
    PluginOptions options;
    std::vector<Device> devices;
    bool listed = false;                // by this endpoint
    std::optional<os::MonoTime> away;   // nobody serves it since then
    std::vector<std::string> problems;  // of the last list, told already
    std::string unhealthy;              // likewise
  };

  PluginServer(ServerOptions options, os::EventFd changed);
  grpc::Reply Register(const std::string& request) BERTH_EXCLUDES(mutex_);
  Result<void> Take(const Registration& registration) BERTH_EXCLUDES(mutex_);
  Result<void> OpenRegistry();
  void TellOfRegistry(const Error& why) BERTH_EXCLUDES(mutex_);
  Result<EndpointPtr> JoinFound(const PluginInfo& info) BERTH_EXCLUDES(mutex_);
  bool PartFound(const EndpointPtr& endpoint) BERTH_EXCLUDES(mutex_);
  Result<EndpointPtr> Meet(const std::string& resource, const std::string& path, const std::string& name)
      BERTH_EXCLUDES(mutex_);
  std::unexpected<Error> Refuse(Error why) BERTH_EXCLUDES(mutex_);
  void Count(const std::string& resource) BERTH_EXCLUDES(mutex_);
  Result<void> Greet(const EndpointPtr& endpoint) BERTH_EXCLUDES(mutex_);
  Result<void> TakeOver(const EndpointPtr& endpoint, const PluginOptions& wants) BERTH_EXCLUDES(mutex_);
  void Watch(const EndpointPtr& endpoint) BERTH_EXCLUDES(mutex_);
  void TakeList(const EndpointPtr& endpoint, DeviceList list) BERTH_EXCLUDES(mutex_);
  void TakeEnd(const EndpointPtr& endpoint, const Error& why) BERTH_EXCLUDES(mutex_);
  void TellOfList(const std::string& name, Resource& resource, DeviceList& list) BERTH_REQUIRES(mutex_);
  void Tell(bool warning, std::string reason, std::string message) BERTH_REQUIRES(mutex_);
  void Changed() BERTH_REQUIRES(mutex_);
  Result<EndpointPtr> Find(const std::string& resource) const BERTH_EXCLUDES(mutex_);

  const ServerOptions options_;
  const os::EventFd changed_;
  mutable Mutex mutex_;
  std::map<std::string, Resource, std::less<>> resources_ BERTH_GUARDED_BY(mutex_);
  std::set<std::string, std::less<>> gone_ BERTH_GUARDED_BY(mutex_);
  std::set<EndpointPtr> greeted_ BERTH_GUARDED_BY(mutex_);    // their registration is under way
  std::uint64_t registrations_ BERTH_GUARDED_BY(mutex_) = 0;  // that were taken
  DeviceFigures figures_ BERTH_GUARDED_BY(mutex_);
  std::shared_ptr<const Known> known_ BERTH_GUARDED_BY(mutex_);
  std::vector<Note> notes_ BERTH_GUARDED_BY(mutex_);
  bool ending_ BERTH_GUARDED_BY(mutex_) = false;
  os::Threads watchers_;  // one for each plug-in
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<PluginRegistry> registry_;
};

}  // namespace berth::device_manager

#endif  // BERTH_NODE_DEVICE_MANAGER_PLUGIN_SERVER_H_
