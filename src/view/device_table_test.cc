#include "view/device_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::view {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

/// GPUs below one bridge with the NIC n0; two NICs on another root; two devices of which nothing is known.
struct DeviceTableTest : testing::Test {
  DeviceTableTest() {
    AddFunction("0000:3b:00.0", {"pci0000:3a", "0000:3a:00.0"});
    AddFunction("0000:3b:00.1", {"pci0000:3a", "0000:3a:00.0"});
    AddFunction("0000:5e:00.0", {"pci0000:5d", "0000:5d:00.0"});
    AddFunction("0000:5f:00.0", {"pci0000:5d", "0000:5d:01.0"});
    devices["a.com/gpu"] = {{.id = "g0", .nodes = {NumaId{0}}, .healthy = true, .pci = "0000:3b:00.0"}};
    devices["b.com/nic"] = {{.id = "0000:3b:00.1", .nodes = {NumaId{0}}},
                            {.id = "0000:5e:00.0", .nodes = {NumaId{1}}},
                            {.id = "0000:5f:00.0", .nodes = {NumaId{1}}}};
    devices["c.com/dongle"] = {{.id = "d0", .nodes = {}, .healthy = false}, {.id = "d1", .nodes = {}}};
  }
  void AddFunction(const std::string& address, std::vector<std::string> above) {
    PciDevice& function = machine.pci.emplace_back();
    function.address = address;
    function.above = std::move(above);
  }
  void Give(const std::string& resource, const std::string& id) {
    PodRecord& pod = ledger.pods["u1"];
    pod.namespace_ = "default";
    pod.name = "train";
    if (pod.placements.empty()) pod.placements.emplace_back().container = "app";
    pod.placements[0].devices.push_back({.resource = resource, .ids = {id}, .answer = {}});
  }
  Machine machine;
  Ledger ledger;
  DeviceInventory devices;
};

TEST_F(DeviceTableTest, SaysWhereDevicesSitAndWhoHoldsThem) {
  Give("a.com/gpu", "g0");
  EXPECT_EQ(
      "NODE  ROOT     SWITCH        RESOURCE      DEVICE                     HELD BY\n"
      "   0  0000:3a  0000:3a:00.0  a.com/gpu     g0                         default/train/app\n"
      "   0  0000:3a  0000:3a:00.0  b.com/nic     0000:3b:00.1               free\n"
      "   1  0000:5d  -             b.com/nic     0000:5e:00.0,0000:5f:00.0  free\n"
      "   -  -        -             c.com/dongle  d0                         not healthy\n"
      "   -  -        -             c.com/dongle  d1                         free\n",
      DeviceTable(machine, ledger, devices));
}

TEST_F(DeviceTableTest, WithoutPciItSaysNothingOfIt) {
  machine.pci.clear();
  devices.erase("b.com/nic");
  EXPECT_EQ(
      "NODE  RESOURCE      DEVICE  HELD BY\n"
      "   0  a.com/gpu     g0      free\n"
      "   -  c.com/dongle  d0      not healthy\n"
      "   -  c.com/dongle  d1      free\n",
      DeviceTable(machine, ledger, devices));
}

TEST_F(DeviceTableTest, WhatIsHeldAndNotListedAnyMoreIsShown) {
  Give("d.com/fpga", "0000:5e:00.0");
  const auto states = DescribeDevices(machine, ledger, {});
  ASSERT_THAT(states, SizeIs(1));
  EXPECT_FALSE(states[0].device.healthy);
  EXPECT_EQ(states[0].function, &machine.pci[2]);
  EXPECT_EQ(
      "NODE  ROOT     SWITCH  RESOURCE    DEVICE        HELD BY\n"
      "   -  0000:5d  -       d.com/fpga  0000:5e:00.0  default/train/app (not healthy)\n",
      DeviceTable(machine, ledger, {}));
}

TEST_F(DeviceTableTest, WithoutDevicesThereIsNoTable) { EXPECT_THAT(DeviceTable(machine, ledger, {}), IsEmpty()); }

}  // namespace
}  // namespace berth::view
