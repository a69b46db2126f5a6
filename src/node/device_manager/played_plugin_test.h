// A device plug-in that says what a test has it say.
#ifndef BERTH_NODE_DEVICE_MANAGER_PLAYED_PLUGIN_TEST_H_
#define BERTH_NODE_DEVICE_MANAGER_PLAYED_PLUGIN_TEST_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "device_plugin.pb.h"
#include "host/os/clock.h"
#include "rpc/grpc/grpc_client.h"
#include "rpc/grpc/grpc_server.h"

namespace berth::device_manager {

namespace pb = ::v1beta1;

struct PlayedDevice {
  std::string id;
  std::string health = "Healthy";
  std::vector<std::int64_t> nodes{};
};

inline std::string ListOf(const std::vector<PlayedDevice>& devices) {
  pb::ListAndWatchResponse out;
  for (const PlayedDevice& device : devices) {
    pb::Device& one = *out.add_devices();
    one.set_id(device.id);
    one.set_health(device.health);
    for (const std::int64_t node : device.nodes) one.mutable_topology()->add_nodes()->set_id(node);
  }
  return out.SerializeAsString();
}

/// Registers `resource` at `kubelet` (a socket). "": it was taken; else what the answer says.
inline std::string RegisterAt(const std::string& kubelet, const std::string& endpoint, const std::string& resource,
                              const std::string& version = "v1beta1") {
  pb::RegisterRequest request;
  request.set_version(version);
  request.set_endpoint(endpoint);
  request.set_resource_name(resource);
  grpc::Client client(grpc::UnixConnector(kubelet), kubelet);
  const auto answer = client.Call("/v1beta1.Registration/Register", request.SerializeAsString(),
                                  {.deadline = os::SystemClock().Now() + os::Millis(20'000)});
  return answer ? "" : answer.error().message;
}

class PlayedPlugin {
 public:
  explicit PlayedPlugin(std::string path) : path_(std::move(path)) { Listen(); }
  ~PlayedPlugin() { Die(); }
  PlayedPlugin(const PlayedPlugin&) = delete;
  PlayedPlugin& operator=(const PlayedPlugin&) = delete;

  /// Tells this from now on.
  void List(const std::vector<PlayedDevice>& devices) { Say(ListOf(devices)); }
  void Say(std::string message) {
    const MutexLock lock(mutex_);
    list_ = std::move(message);
    ++version_;
    changed_.NotifyAll();
  }
  /// As if it was killed.
  void Die() {
    {
      const MutexLock lock(mutex_);
      dead_ = true;
      changed_.NotifyAll();
    }
    server_.reset();
  }
  void Listen() {
    {
      const MutexLock lock(mutex_);
      dead_ = false;
    }
    grpc::Services services;
    const std::string service = "/v1beta1.DevicePlugin/";
    services.unary[service + "GetDevicePluginOptions"] = [this](const auto&, const auto&) -> grpc::Reply {
      return options.SerializeAsString();
    };
    services.unary[service + "Allocate"] = [this](const grpc::ServerCall& call, const std::string& request) {
      return allocate(call, request);
    };
    services.unary[service + "PreStartContainer"] = [this](const grpc::ServerCall& call, const std::string& request) {
      return pre_start(call, request);
    };
    services.unary[service + "GetPreferredAllocation"] =
        [this](const grpc::ServerCall& call, const std::string& request) { return prefer(call, request); };
    services.streaming[service + "ListAndWatch"] = [this](grpc::ServerStream& stream) { return Watch(stream); };
    auto server = grpc::Server::Start(std::move(services));
    ASSERT_TRUE(server);
    server_ = *std::move(server);
    ASSERT_TRUE(server_->Listen(path_, 0600));
  }

  pb::DevicePluginOptions options;
  grpc::UnaryHandler allocate = [](const auto&, const std::string& request) -> grpc::Reply {
    pb::AllocateRequest asked;
    asked.ParseFromString(request);
    pb::AllocateResponse out;
    auto& container = *out.add_container_responses();
    std::string ids;
    for (const std::string& id : asked.container_requests(0).devices_ids()) ids += (ids.empty() ? "" : ",") + id;
    (*container.mutable_envs())["DEVICES"] = ids;
    return out.SerializeAsString();
  };
  grpc::UnaryHandler pre_start = [](const auto&, const auto&) -> grpc::Reply { return std::string(); };
  grpc::UnaryHandler prefer = [](const auto&, const auto&) -> grpc::Reply { return std::string(); };

 private:
  grpc::Status Watch(grpc::ServerStream& stream) {
    std::uint64_t told = 0;
    for (;;) {
      std::string list;
      {
        const MutexLock lock(mutex_);
        while (!dead_ && told == version_ && !stream.gone())
          changed_.WaitUntil(mutex_, os::SystemClock().Now() + os::Millis(5));
        if (dead_ || stream.gone()) return {grpc::StatusCode::kUnavailable, "killed"};
        told = version_;
        list = list_;
      }
      if (!stream.Write(list)) return {grpc::StatusCode::kUnavailable, "gone"};
    }
  }

  const std::string path_;
  Mutex mutex_;
  CondVar changed_;
  std::string list_ BERTH_GUARDED_BY(mutex_);
  std::uint64_t version_ BERTH_GUARDED_BY(mutex_) = 0;
  bool dead_ BERTH_GUARDED_BY(mutex_) = false;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace berth::device_manager

#endif  // BERTH_NODE_DEVICE_MANAGER_PLAYED_PLUGIN_TEST_H_
