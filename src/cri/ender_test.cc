#include "cri/ender.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "testing/fixtures.h"
#include "wire/server.h"

namespace berth::cri {
namespace {

TEST(EnderTest, SleepsBeforeAStopNoLongerThanTheContainerRuns) {
  const testkit::TempDir temp;
  std::atomic<int> stops = 0;
  const auto server = wire::Server::Start({.unary = {{"/runtime.v1.RuntimeService/StopContainer",
                                                      [&](const wire::ServerCall&, const std::string&) -> wire::Reply {
                                                        ++stops;
                                                        return "";
                                                      }}}});
  ASSERT_TRUE(server && (*server)->Listen(temp / "cri", 0600));
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
