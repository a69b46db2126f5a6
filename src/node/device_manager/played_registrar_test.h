// A plug-in that waits to be found by its socket, and says who it is.
#ifndef BERTH_NODE_DEVICE_MANAGER_PLAYED_REGISTRAR_TEST_H_
#define BERTH_NODE_DEVICE_MANAGER_PLAYED_REGISTRAR_TEST_H_

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "host/os/clock.h"
#include "node/device_manager/device_plugin_messages.h"
#include "node/device_manager/played_plugin_test.h"
#include "plugin_registration.pb.h"
#include "rpc/grpc/grpc_server.h"

namespace berth::device_manager {

/// Says who a plug-in is, and serves one device itself. Keeps what it is told: "" that it was taken.
class PlayedRegistrar {
 public:
  PlayedRegistrar(const std::string& path, const PluginInfo& info) {
    pluginregistration::PluginInfo message;
    message.set_type(info.type);
    message.set_name(info.name);
    message.set_endpoint(info.endpoint);
    for (const std::string& version : info.versions) message.add_supported_versions(version);
    grpc::Services services;
    services.unary["/pluginregistration.Registration/GetInfo"] =
        [this, bytes = message.SerializeAsString()](const grpc::ServerCall& call, const auto&) -> grpc::Reply {
      while (silent && !call.gone()) os::SleepFor(os::Millis(5));
      return bytes;
    };
    services.unary["/pluginregistration.Registration/NotifyRegistrationStatus"] =
        [this](const auto&, const std::string& request) -> grpc::Reply {
      pluginregistration::RegistrationStatus status;
      status.ParseFromString(request);
      const MutexLock lock(mutex_);
      told_.push_back(status.plugin_registered() ? "" : status.error());
      return std::string();
    };
    services.unary["/v1beta1.DevicePlugin/GetDevicePluginOptions"] = [](const auto&, const auto&) -> grpc::Reply {
      return std::string();
    };
    services.streaming["/v1beta1.DevicePlugin/ListAndWatch"] = [](grpc::ServerStream& stream) {
      static_cast<void>(stream.Write(ListOf({{"own"}})));
      while (!stream.gone()) os::SleepFor(os::Millis(5));
      return grpc::Status(grpc::StatusCode::kUnavailable, "gone");
    };
    server_ = *grpc::Server::Start(std::move(services));
    EXPECT_TRUE(server_->Listen(path, 0600));
  }
  std::vector<std::string> told() {
    const MutexLock lock(mutex_);
    return told_;
  }
  std::atomic<bool> silent = false;

 private:
  Mutex mutex_;
  std::vector<std::string> told_ BERTH_GUARDED_BY(mutex_);
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace berth::device_manager

#endif  // BERTH_NODE_DEVICE_MANAGER_PLAYED_REGISTRAR_TEST_H_
