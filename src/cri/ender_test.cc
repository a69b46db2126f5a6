#include "cri/ender.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "testing/fixtures.h"
#include "testing/grpc_server.h"

namespace berth::cri {
namespace {

TEST(EnderTest, SleepsBeforeAStopNoLongerThanTheContainerRuns) {
  const testkit::TempDir temp;
  std::atomic<int> stops = 0;
  const testkit::GrpcServer server(temp / "cri", [&](const testkit::GrpcRequest& request) {
    if (request.method.ends_with("/StopContainer")) ++stops;
    return testkit::GrpcAnswer{.body = testkit::GrpcFrame("")};
  });
  Shared shared({.socket = temp / "cri"}, *os::EventFd::Open(), *os::EventFd::Open());
  Ender ender(shared);
  runtime::ContainerStatus status{.id = "a", .pod_uid = "pod", .container = "app"};
  status.state = runtime::ContainerState::kRunning;
  shared.Took(status, std::nullopt);
  std::thread stopping([&] {
    ender.StopContainer({.id = "a", .grace = std::chrono::seconds(1'000), .pre_stop_sleep = std::chrono::seconds(900)});
  });
  EXPECT_EQ(0, stops);
  status.state = runtime::ContainerState::kExited;
  shared.Took(status, std::nullopt);
  stopping.join();
  EXPECT_EQ(1, stops);
}

}  // namespace
}  // namespace berth::cri
