#include "model/local_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

LocalHardware Hardware() {
  LocalHardware out;
  out.pci = {{.address = "0000:3b:00.0",
              .class_id = 0x020000,
              .vendor = 0x8086,
              .device = 0x1572,
              .driver = "i40e",
              .iommu_group = "12",
              .node = NumaId{0},
              .device_nodes = {}},
             {.address = "0000:3b:02.0",
              .class_id = 0x020000,
              .vendor = 0x8086,
              .device = 0x154c,
              .driver = "vfio-pci",
              .iommu_group = "13",
              .node = NumaId{1},
              .device_nodes = {}},
             {.address = "0000:3b:02.1",
              .class_id = 0x020000,
              .vendor = 0x8086,
              .device = 0x154c,
              .driver = "vfio-pci",
              .iommu_group = "13",
              .node = NumaId{1},
              .device_nodes = {}},
             {.address = "0000:5e:00.0",
              .class_id = 0x010802,
              .vendor = 0x144d,
              .device = 0xa80a,
              .driver = "nvme",
              .iommu_group = "",
              .node = {},
              .device_nodes = {"/dev/nvme0", "/dev/nvme0n1"}}};
  out.nodes = {{.path = "/dev/ttyUSB0", .node = NumaId{1}, .pci = "0000:00:14.0"},
               {.path = "/dev/ttyUSB1", .node = {}, .pci = ""}};
  return out;
}

LocalDeviceRule Nics() {
  LocalDeviceRule out;
  out.resource = "berth.dev/vf";
  out.pci = {{.vendor = 0x8086, .device = 0x154c, .class_prefix = "", .driver = "vfio-pci", .address = ""}};
  return out;
}
LocalDeviceRule Disks() {
  LocalDeviceRule out;
  out.resource = "vendor.example/fast-disk";
  out.pci = {{.vendor = {}, .device = {}, .class_prefix = "0108", .driver = "", .address = ""}};
  return out;
}
LocalDeviceRule Serial() {
  LocalDeviceRule out;
  out.resource = "berth.dev/serial";
  out.paths = {"/dev/ttyUSB*"};
  out.permissions = "r";
  return out;
}

std::vector<std::string> Ids(const DeviceInventory& inventory, const std::string& resource) {
  std::vector<std::string> out;
  for (const Device& device : inventory.at(resource)) out.push_back(device.id);
  return out;
}

TEST(LocalDevicesTest, AFunctionIsMeantByEachOfItsTraits) {
  const PciFunction nvme = Hardware().pci[3];
  PciMatch match;
  EXPECT_TRUE(Means(match, nvme));
  match = {.vendor = 0x144d, .device = 0xa80a, .class_prefix = "010802", .driver = "nvme", .address = "0000:5?:00.*"};
  EXPECT_TRUE(Means(match, nvme));
  for (const PciMatch& other :
       {PciMatch{.vendor = 1, .device = {}, .class_prefix = "", .driver = "", .address = ""},
        PciMatch{.vendor = {}, .device = 1, .class_prefix = "", .driver = "", .address = ""},
        PciMatch{.vendor = {}, .device = {}, .class_prefix = "02", .driver = "", .address = ""},
        PciMatch{.vendor = {}, .device = {}, .class_prefix = "", .driver = "vfio-pci", .address = ""},
        PciMatch{.vendor = {}, .device = {}, .class_prefix = "", .driver = "", .address = "0000:5e:00.1"}})
    EXPECT_FALSE(Means(other, nvme));
  EXPECT_TRUE(MeansPath("/dev/tty*", "/dev/ttyS0"));
  EXPECT_FALSE(MeansPath("/dev/*", "/dev/bus/usb")) << "no star goes over a folder";
}

TEST(LocalDevicesTest, TheInventoryHasEachResourceWithItsNodes) {
  const DeviceInventory inventory = LocalInventory({Nics(), Disks(), Serial()}, Hardware());
  EXPECT_THAT(Ids(inventory, "berth.dev/vf"), ElementsAre("0000:3b:02.0", "0000:3b:02.1"));
  EXPECT_EQ(inventory.at("berth.dev/vf")[0].nodes, NodeSet{NumaId{1}});
  EXPECT_THAT(Ids(inventory, "vendor.example/fast-disk"), ElementsAre("0000:5e:00.0"));
  EXPECT_TRUE(inventory.at("vendor.example/fast-disk")[0].nodes.empty());
  EXPECT_THAT(Ids(inventory, "berth.dev/serial"), ElementsAre("/dev/ttyUSB0", "/dev/ttyUSB1"));
  EXPECT_EQ(inventory.at("berth.dev/serial")[0].pci, "0000:00:14.0") << "where it sits is the function's place";
  EXPECT_THAT(LocalInventory({Nics()}, {}).at("berth.dev/vf"), IsEmpty()) << "registered all the same";
}

TEST(LocalDevicesTest, WhatTwoRulesMeanBelongsToTheFirst) {
  LocalDeviceRule all = Disks();
  all.resource = "berth.dev/any";
  all.pci = {PciMatch()};
  const DeviceInventory inventory = LocalInventory({Nics(), all}, Hardware());
  EXPECT_THAT(Ids(inventory, "berth.dev/any"), ElementsAre("0000:3b:00.0", "0000:5e:00.0"));
  EXPECT_FALSE(LocalAnswer({Nics(), all}, Hardware(), "berth.dev/any", {"0000:3b:02.0"}));
}

TEST(LocalDevicesTest, VfioWithoutAGroupIsNothingToGive) {
  LocalHardware hardware = Hardware();
  hardware.pci[1].iommu_group.clear();
  EXPECT_FALSE(LocalInventory({Nics()}, hardware).at("berth.dev/vf")[0].healthy);
}

TEST(LocalDevicesTest, AContainerGetsTheGroupOfItsFunctionsAndTheirNames) {
  const auto answer = LocalAnswer({Nics()}, Hardware(), "berth.dev/vf", {"0000:3b:02.0", "0000:3b:02.1"});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_THAT(answer->env, ElementsAre(Pair("PCIDEVICE_BERTH_DEV_VF", "0000:3b:02.0,0000:3b:02.1")));
  ASSERT_EQ(answer->device_nodes.size(), 2U) << "one group of both";
  EXPECT_EQ(answer->device_nodes[0].host_path, "/dev/vfio/vfio");
  EXPECT_EQ(answer->device_nodes[1].container_path, "/dev/vfio/13");
  EXPECT_EQ(answer->nodes.at("0000:3b:02.1"), NodeSet{NumaId{1}});
}

TEST(LocalDevicesTest, AContainerGetsTheNodesBehindAFunctionAndThoseNamedByPath) {
  const std::vector<LocalDeviceRule> rules{Disks(), Serial()};
  const auto disk = LocalAnswer(rules, Hardware(), "vendor.example/fast-disk", {"0000:5e:00.0"});
  ASSERT_TRUE(disk);
  EXPECT_THAT(disk->env, ElementsAre(Pair("PCIDEVICE_VENDOR_EXAMPLE_FAST_DISK", "0000:5e:00.0")));
  ASSERT_EQ(disk->device_nodes.size(), 2U);
  EXPECT_EQ(disk->device_nodes[1].host_path, "/dev/nvme0n1");
  const auto serial = LocalAnswer(rules, Hardware(), "berth.dev/serial", {"/dev/ttyUSB1"});
  ASSERT_TRUE(serial);
  EXPECT_THAT(serial->env, ElementsAre(Pair("BERTH_DEVICE_BERTH_DEV_SERIAL", "/dev/ttyUSB1")));
  EXPECT_EQ(serial->device_nodes.front(), (DeviceNode{"/dev/ttyUSB1", "/dev/ttyUSB1", "r"}));
}

TEST(LocalDevicesTest, WhatIsGoneIsNamed) {
  const auto answer = LocalAnswer({Serial()}, {}, "berth.dev/serial", {"/dev/ttyUSB7"});
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("device /dev/ttyUSB7 of berth.dev/serial is not there"));
}

}  // namespace
}  // namespace berth
