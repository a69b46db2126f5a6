#include "config/local_device_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "config/berth_config.h"

namespace berth::config {
namespace {

using testing::HasSubstr;

constexpr std::string_view kLocalHead = "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nlocalDevices:\n";

std::string ProblemsOf(const std::string& item) {
  const auto parsed = ParseBerthConfiguration(std::string(kLocalHead) + item, "berth.yaml");
  return parsed ? "accepted" : parsed.error().message;
}

TEST(LocalDeviceReaderTest, ReadsRulesOfBothKinds) {
  const auto parsed = ParseBerthConfiguration(std::string(kLocalHead) + R"(
- resource: berth.dev/vf
  pci:
  - {vendor: "8086", device: "0x154C", class: "02", driver: vfio-pci, address: "0000:3b:*"}
  - {class: "0108"}
- resource: vendor.example/serial
  paths: [/dev/ttyUSB*, /dev/serial/by-id/usb-x]
  permissions: r
)",
                                              "berth.yaml");
  ASSERT_TRUE(parsed) << parsed.error().message;
  ASSERT_EQ(parsed->config.local_devices.size(), 2U);
  const LocalDeviceRule& vf = parsed->config.local_devices[0];
  EXPECT_EQ(vf.resource, "berth.dev/vf");
  ASSERT_EQ(vf.pci.size(), 2U);
  EXPECT_EQ(
      vf.pci[0],
      (PciMatch{
          .vendor = 0x8086, .device = 0x154c, .class_prefix = "02", .driver = "vfio-pci", .address = "0000:3b:*"}));
  EXPECT_FALSE(vf.pci[1].vendor);
  EXPECT_EQ(vf.permissions, "rw");
  EXPECT_EQ(parsed->config.local_devices[1].paths.size(), 2U);
  EXPECT_EQ(parsed->config.local_devices[1].permissions, "r");
  EXPECT_TRUE(parsed->warnings.empty());
}

TEST(LocalDeviceReaderTest, WhatIsWrongIsNamedWithItsPath) {
  EXPECT_THAT(ProblemsOf("- {paths: [/dev/x]}\n"), HasSubstr("localDevices[0].resource: Required value"));
  EXPECT_THAT(ProblemsOf("- {resource: nic, paths: [/dev/x]}\n"), HasSubstr("a domain such as berth.dev/nic"));
  EXPECT_THAT(ProblemsOf("- {resource: node.kubernetes.io/x, paths: [/dev/x]}\n"), HasSubstr("not of kubernetes.io"));
  EXPECT_THAT(ProblemsOf("- {resource: a.b/c}\n"), HasSubstr("localDevices[0]: Required value: pci, or paths"));
  EXPECT_THAT(ProblemsOf("- {resource: a.b/c, pci: [{}]}\n"), HasSubstr("localDevices[0].pci[0]: Required value"));
  EXPECT_THAT(ProblemsOf("- {resource: a.b/c, pci: [{vendor: intel}]}\n"), HasSubstr("pci[0].vendor: Invalid value"));
  EXPECT_THAT(ProblemsOf("- {resource: a.b/c, pci: [{device: \"12345\"}]}\n"), HasSubstr("up to 4 hexadecimal"));
  EXPECT_THAT(ProblemsOf("- {resource: a.b/c, paths: [/etc/passwd]}\n"), HasSubstr("a path below /dev"));
  EXPECT_THAT(ProblemsOf("- {resource: a.b/c, paths: [/dev/../etc/x]}\n"), HasSubstr("a path below /dev"));
  EXPECT_THAT(ProblemsOf("- {resource: a.b/c, paths: [/dev/*/x]}\n"), HasSubstr("last part"));
  EXPECT_THAT(ProblemsOf("- {resource: a.b/c, paths: [/dev/x], permissions: rx}\n"), HasSubstr("letters r, w and m"));
}

}  // namespace
}  // namespace berth::config
