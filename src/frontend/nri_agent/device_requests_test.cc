#include "frontend/nri_agent/device_requests.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace berth::nri_agent {
namespace {

std::string TextOfGiven(std::vector<Device> devices) {
  Pod pod;
  Trace trace;
  RequestDevices(pod, "app", {{"vendor.example/gpu", std::move(devices)}}, &trace);
  return trace.steps().size() == 1U ? trace.steps()[0].text : "";
}

TEST(DeviceRequestsTest, TheTraceNamesDevicesFitForPeople) {
  EXPECT_EQ("given by the kubelet, as its pod resources say: g\\x1b[31m, h (NUMA node 1)",
            TextOfGiven({{.id = "g\x1b[31m", .nodes = {NumaId{1}}}, {.id = "h", .nodes = {}}}));
  EXPECT_LT(TextOfGiven(std::vector<Device>(1024, {.id = std::string(1024, 'g'), .nodes = {}})).size(), 600U);
}

}  // namespace
}  // namespace berth::nri_agent
