// What processes of the host find of the devices they were given.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "runtime/lifecycle/device_grants.h"
#include "runtime_fixture.h"

namespace berth::runtime {
namespace {

class RuntimeDeviceTest : public RuntimeTest {
 protected:
  /// Everything a script says, run with what these devices bring.
  std::string SayWith(const DeviceAnswer& devices, const std::string& script, SecurityContext security = {}) {
    StartRequest request = Request({"/bin/sh", "-c", script});
    request.log_path = temp_ / ("device-" + std::to_string(said_++) + ".log");
    request.devices = devices;
    request.env = WithDevices(devices, std::move(request.env));
    request.container.security = std::move(security);
    std::vector<std::string> conflicts;
    request.place.mounts = WithDevices(devices, {}, conflicts);
    const Result<ContainerStatus> started = Start(request);
    if (!started) return started.error().message;
    const ContainerStatus status = WaitEnd(started->id);
    return status.message + Output(request) + Output(request, "stderr");
  }
  int said_ = 0;
};

TEST_F(RuntimeDeviceTest, VariablesNodesAndMountsAreWhereThePluginSays) {
  std::ofstream(temp_ / "library") << "of the plug-in\n";
  std::filesystem::permissions(temp_.path(), std::filesystem::perms(0755));
  const DeviceAnswer devices{
      .nodes = {},
      .env = {{"GPUS", "0"}},
      .mounts = {{.container_path = "/opt/berth-no-such-folder/library", .host_path = temp_ / "library"}},
      .device_nodes = {{.container_path = "/dev/null", .host_path = "/dev/null", .permissions = "rw"},
                       {.container_path = "/dev/berth-gpu0", .host_path = "/dev/zero", .permissions = "rw"},
                       {.container_path = "/dev/berth/deep/gpu1", .host_path = "/dev/full", .permissions = "rw"}},
      .annotations = {{"vendor.example/gpu", "0"}},
      .cdi_devices = {}};
  const std::string script =
      "echo $GPUS; cat /opt/berth-no-such-folder/library; echo x > /dev/null && head -c 3 /dev/berth-gpu0 | wc -c; "
      "stat -c %t:%T /dev/berth-gpu0 /dev/berth/deep/gpu1; test -c /dev/urandom && test -c /dev/random && echo others";
  for (const bool read_only_root : {false, true})
    EXPECT_EQ(SayWith(devices, script, {.read_only_root = read_only_root}), "0\nof the plug-in\n3\n1:5\n1:7\nothers\n");
  EXPECT_EQ(SayWith(devices, "head -c 2 /dev/berth-gpu0 | wc -c", {.run_as_user = 12345}), "2\n") << "as another user";
  EXPECT_FALSE(std::filesystem::exists("/dev/berth-gpu0")) << "nothing of it is on the host";
}

TEST_F(RuntimeDeviceTest, ANodeThatIsNotThereOrACdiDeviceEndsTheStartWithItsReason) {
  const DeviceAnswer missing{
      .nodes = {},
      .env = {},
      .mounts = {},
      .device_nodes = {{.container_path = "/dev/berth", .host_path = "/dev/berth-none", .permissions = "rw"}},
      .annotations = {},
      .cdi_devices = {}};
  EXPECT_TRUE(SayWith(missing, "true").contains("look at device node /dev/berth-none"));
  DeviceAnswer cdi;
  cdi.cdi_devices = {"vendor.example/gpu=0"};
  EXPECT_TRUE(SayWith(cdi, "true").contains("CDI device vendor.example/gpu=0")) << SayWith(cdi, "true");
}

}  // namespace
}  // namespace berth::runtime
