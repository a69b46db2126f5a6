// What a container is started with when its record has devices.
#include <gtest/gtest.h>

#include <string>

#include "daemon/fake_node_test.h"

namespace berth::daemon {
namespace {

struct DeviceStartTest : PodManagerTest {
  /// "a" runs; berthd starts again with these devices in its record, and its container ends and is started again.
  std::unique_ptr<TestManager> StartAgainWith(const std::vector<DeviceAssignment>& devices) {
    {
      auto manager = Boot();
      manager->OnSnapshot(Wanting({pod}), Now());
      EXPECT_TRUE(world.runtime.Runs(pod.uid, "a"));
    }
    world.store.saved->ledger.pods.find(pod.uid)->second.placements.front().devices = devices;
    auto manager = Boot();
    manager->OnSnapshot(Wanting({pod}), Now());
    world.runtime.last_request.reset();
    world.runtime.Exit(world.runtime.containers.begin()->first, 1);
    manager->OnRuntime(Now());
    for (int second = 0; second < 12 && !world.runtime.last_request; ++second) Advance(*manager, os::Millis(1'000));
    return manager;
  }
  Pod pod = MakePod("a", "1");
};

TEST_F(DeviceStartTest, ItsNextAttemptHasWhatItsDevicesBring) {
  pod.containers.front().command = {"/bin/run", "$(GPUS)"};
  pod.containers.front().env = {{.name = "SHARED", .value = "mine"}};
  const DeviceAnswer gpu{
      .nodes = {{"g0", {}}},
      .env = {{"GPUS", "0,1"}, {"SHARED", "theirs"}},
      .mounts = {},
      .device_nodes = {{.container_path = "/dev/gpu0", .host_path = "/dev/gpu0", .permissions = "rw"}},
      .annotations = {{"vendor.example/gpu", "0"}},
      .cdi_devices = {}};
  const DeviceAnswer nic{
      .nodes = {}, .env = {{"GPUS", "?"}}, .mounts = {}, .device_nodes = {}, .annotations = {}, .cdi_devices = {}};
  const auto manager = StartAgainWith({{"vendor.example/gpu", {"g0"}, gpu}, {"vendor.example/nic", {"n0"}, nic}});
  ASSERT_TRUE(world.runtime.last_request);
  const runtime::StartRequest& request = *world.runtime.last_request;
  EXPECT_EQ(request.container.command, (std::vector<std::string>{"/bin/run", "0,1"}));
  EXPECT_EQ(request.env, (runtime::Environment{{"GPUS", "0,1"}, {"SHARED", "mine"}}));
  EXPECT_EQ(request.devices.device_nodes, gpu.device_nodes);
  EXPECT_EQ(request.devices.annotations, gpu.annotations);
  EXPECT_TRUE(HasEvent("DeviceConflict"));
}

TEST_F(DeviceStartTest, APathThatLeadsElsewhereKeepsItFromStarting) {
  DeviceAnswer gpu;
  gpu.mounts = {{.container_path = "/opt/gpu", .host_path = "/opt/../etc", .read_only = true}};
  const auto manager = StartAgainWith({{"vendor.example/gpu", {"g0"}, gpu}});
  EXPECT_FALSE(world.runtime.last_request);
  EXPECT_TRUE(std::ranges::any_of(world.events.events(), [](const Event& event) {
    return event.message.contains("vendor.example/gpu: its devices come with a mount of \"/opt/../etc\"");
  }));
}

}  // namespace
}  // namespace berth::daemon
