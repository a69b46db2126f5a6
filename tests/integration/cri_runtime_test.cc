// CRI as Berth's Runtime, on the containerd of this host or the one that BERTH_CONTAINERD names.
#include "runtime/cri/cri_runtime.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "containerd_fixture.h"
#include "testing/seen_groups.h"

namespace berth::cri {
namespace {

using runtime::ContainerState;
using testkit::ContainerdFixture;

/// With looks that never come: what is seen long after the last call was told by the runtime.
TEST(CriRuntimeTest, HearsOfAnExitWithoutLooking) {
  if (const auto why = ContainerdFixture::WhyNot()) GTEST_SKIP() << *why;
  ContainerdFixture containerd;
  containerd.Start();
  const auto version = Client(containerd.socket()).Handshake();
  ASSERT_TRUE(version) << version.error().message;
  if (version->version.starts_with("1.6.")) GTEST_SKIP() << "containerd 1.6 has no events; tools/get_containerd";

  auto opened = OpenCriRuntime({.socket = containerd.socket(),
                                .cgroup_driver = testkit::SystemdMakesGroups() ? "systemd" : "cgroupfs",
                                .owner = "/test",
                                .look = std::chrono::hours(1)});
  ASSERT_TRUE(opened) << opened.error().message;
  runtime::StartRequest request{.pod_uid = "u", .pod_namespace = "default", .pod_name = "short"};
  request.container.name = "app";
  request.container.image = testkit::kTestImage;
  request.container.command = {"/bin/sh", "-c", "sleep 5; exit 3"};  // longer than a start is looked after
  request.log_path = containerd.Dir("logs/app/0.log");
  request.place.pod_group = containerd.GroupOfPod("u");
  request.place.log_folder = containerd.Dir("logs");
  request.place.host_network = true;
  ASSERT_TRUE(opened->runtime->Start(request));
  const auto became = [&](ContainerState state) {
    const auto list = opened->runtime->List();
    return list && std::ranges::any_of(*list, [&](const auto& container) { return container.state == state; });
  };
  ASSERT_TRUE(containerd.Until("it runs", [&] { return became(ContainerState::kRunning); }));
  ASSERT_TRUE(containerd.Until("its end is heard of", [&] { return became(ContainerState::kExited); }));
  EXPECT_EQ(3, opened->runtime->List()->front().exit_code);
}

}  // namespace
}  // namespace berth::cri
