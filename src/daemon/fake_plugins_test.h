// Device plug-ins for tests of the manager: played, without sockets; and pods that want devices of them.
#ifndef BERTH_DAEMON_FAKE_PLUGINS_TEST_H_
#define BERTH_DAEMON_FAKE_PLUGINS_TEST_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/fake_node_test.h"
#include "host/os/event_fd.h"
#include "node/device_manager/plugins.h"

namespace berth::daemon {

inline const std::string kGpu = "vendor.example/gpu";

/// Plug-ins without sockets. Each call is a step, at which berthd may die.
class FakePlugins final : public device_manager::Plugins {
 public:
  explicit FakePlugins(Steps& steps) : steps_(steps), fd_(*os::EventFd::Open()) {}

  int event_fd() const override { return fd_.get(); }
  std::shared_ptr<const device_manager::Known> known() const override { return known_; }
  std::vector<device_manager::Note> TakeNotes() override { return {}; }
  DeviceFigures figures() const override { return {}; }
  os::MonoTime next_due() const override { return os::MonoTime::max(); }
  void Forget(os::MonoTime) override {}
  Result<DeviceAnswer> Allocate(const std::string& resource, const std::vector<std::string>& ids) override {
    steps_.Before();
    calls.push_back("allocate " + Join(ids));
    if (during_allocate) {
      std::exchange(during_allocate, nullptr)();
      return Fail(Code::kUnreachable, "endpoint gpu.sock of " + resource + " has been stopped");
    }
    if (error) return std::unexpected(*error);
    if (!known_->resources.at(resource).ready) return Fail(Code::kUnreachable, "gone");
    steps_.After("allocate " + Join(ids));
    return DeviceAnswer{.env = {{"DEVICES", Join(ids)}}};
  }
  Result<void> PreStart(const std::string&, const std::vector<std::string>& ids) override {
    calls.push_back("prestart " + Join(ids));
    if (pre_start_error) return std::unexpected(*pre_start_error);
    return {};
  }
  Result<std::vector<std::string>> Prefer(const std::string&,
                                          const device_manager::PreferenceQuestion& question) override {
    calls.push_back("prefer " + std::to_string(question.size) + " of " + Join(question.available));
    if (error) return std::unexpected(*error);
    return prefers;
  }

  void Serve(const std::vector<Device>& devices, device_manager::PluginOptions options = {}) {
    ++registrations_;
    Set(devices, {.endpoint = "gpu.sock", .ready = true, .options = options});
  }
  /// Gone, and waited for.
  void Leave() {
    std::vector<Device> devices = known_->devices.contains(kGpu) ? known_->devices.at(kGpu) : std::vector<Device>();
    for (Device& device : devices) device.healthy = false;
    Set(devices, {.endpoint = "gpu.sock", .ready = false});
  }
  void Await() { Set({}, {}); }

  std::vector<std::string> calls;
  std::vector<std::string> prefers;
  std::function<void()> during_allocate;  // once; the plug-in that was asked has gone then
  std::optional<Error> error;
  std::optional<Error> pre_start_error;

 private:
  static std::string Join(const std::vector<std::string>& ids) {
    std::string out;
    for (const std::string& id : ids) out += (out.empty() ? "" : ",") + id;
    return out;
  }
  void Set(const std::vector<Device>& devices, const device_manager::Served& served) {
    auto known = std::make_shared<device_manager::Known>();
    known->devices[kGpu] = devices;
    known->resources[kGpu] = served;
    known->registrations = registrations_;
    known_ = std::move(known);
  }

  Steps& steps_;
  os::EventFd fd_;
  std::uint64_t registrations_ = 0;
  std::shared_ptr<const device_manager::Known> known_ = std::make_shared<const device_manager::Known>();
};

inline void WantGpus(Container& container, std::string_view count) {
  container.resources.limits.insert_or_assign(kGpu, *Quantity::Parse(count));
  container.resources.requests.insert_or_assign(kGpu, *Quantity::Parse(count));
}

inline Pod GpuPod(const std::string& name, std::string_view count = "1") {
  Pod pod = MakePod(name, "1");
  WantGpus(pod.containers.front(), count);
  return pod;
}

inline std::vector<Device> Gpus(int count) {
  std::vector<Device> out;
  for (int i = 0; i < count; ++i) out.push_back({.id = "d" + std::to_string(i)});
  return out;
}

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_FAKE_PLUGINS_TEST_H_
