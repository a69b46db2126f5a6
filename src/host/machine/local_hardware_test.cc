#include "host/machine/local_hardware.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testing/memory_fs.h"

namespace berth::machine {
namespace {

using testing::ElementsAre;

const std::string kFunctions = "sys/bus/pci/devices/";
const std::string kBridge = "../../../devices/pci0000:3a/0000:3a:00.0/";

void AddFunction(testkit::MemoryFs& fs, const std::string& address, const std::string& cls, int node) {
  const std::string dir = kFunctions + address + "/";
  fs.AddFile(dir + "class", cls + "\n");
  fs.AddFile(dir + "vendor", "0x144d\n");
  fs.AddFile(dir + "device", "0xa80a\n");
  fs.AddFile(dir + "numa_node", std::to_string(node) + "\n");
}

void AddNode(testkit::MemoryFs& fs, const std::string& number, const std::string& place, const std::string& name) {
  fs.AddLink("sys/dev/" + number, "../../" + place);
  fs.AddFile("sys/" + place + "/uevent", name.empty() ? "MAJOR=1\n" : "MAJOR=1\nDEVNAME=" + name + "\n");
}

struct LocalHardwareTest : testing::Test {
  LocalHardwareTest() {
    AddFunction(fs, "0000:3b:00.0", "0x010802", 1);
    AddFunction(fs, "0000:00:14.0", "0x0c0330", -1);
    fs.AddLink(kFunctions + "0000:3b:00.0/driver", "../../../../bus/pci/drivers/nvme");
    fs.AddLink(kFunctions + "0000:3b:00.0/iommu_group", "../../../../kernel/iommu_groups/27");
    const std::string disk = "devices/pci0000:3a/0000:3a:00.0/0000:3b:00.0/nvme/nvme0";
    AddNode(fs, "char/240:0", disk, "nvme0");
    AddNode(fs, "block/259:0", disk + "/nvme0n1", "nvme0n1");
    AddNode(fs, "char/188:0", "devices/pci0000:00/0000:00:14.0/usb1/1-1/ttyUSB0/tty/ttyUSB0", "");
    AddNode(fs, "char/116:33", "devices/virtual/sound/timer", "snd/timer");
    for (const char* const name : {"nvme0", "nvme0n1", "ttyUSB0", "ttyUSB-notes", "snd/timer"})
      fs.AddFile(std::string("dev/") + name, "");
    fs.AddLink("dev/serial/by-id/usb-Vendor", "../../ttyUSB0");
    rule.resource = "berth.dev/x";
  }
  LocalHardware Read() {
    auto read = ReadLocalHardware(fs, {rule});
    EXPECT_TRUE(read) << read.error().message;
    return read ? *read : LocalHardware();
  }
  testkit::MemoryFs fs;
  LocalDeviceRule rule;
};

TEST_F(LocalHardwareTest, AFunctionComesWithItsDriverGroupNodeAndDeviceNodes) {
  const LocalHardware found = Read();
  ASSERT_EQ(found.pci.size(), 2U);
  const PciFunction& disk = found.pci[1];
  EXPECT_EQ(disk.address, "0000:3b:00.0");
  EXPECT_EQ(disk.class_id, 0x010802U);
  EXPECT_EQ(disk.driver, "nvme");
  EXPECT_EQ(disk.iommu_group, "27");
  EXPECT_EQ(disk.node, NumaId{1});
  EXPECT_THAT(disk.device_nodes, ElementsAre("/dev/nvme0", "/dev/nvme0n1"));
  EXPECT_FALSE(found.pci[0].node);
  EXPECT_TRUE(found.nodes.empty()) << "no path is meant";
}

TEST_F(LocalHardwareTest, PathsMeanDeviceNodesOnlyAndLinksToThem) {
  rule.paths = {"/dev/ttyUSB*", "/dev/serial/by-id/usb-*", "/dev/snd/timer", "/dev/none*", "/nowhere/x"};
  const LocalHardware found = Read();
  ASSERT_EQ(found.nodes.size(), 3U);
  EXPECT_EQ(found.nodes[0].path, "/dev/serial/by-id/usb-Vendor");
  EXPECT_EQ(found.nodes[0].pci, "0000:00:14.0");
  EXPECT_EQ(found.nodes[1].path, "/dev/snd/timer");
  EXPECT_EQ(found.nodes[1].pci, "");
  EXPECT_EQ(found.nodes[2].path, "/dev/ttyUSB0");
}

TEST_F(LocalHardwareTest, ADeviceNodeIsOnTheNodeOfWhatIsBehindIt) {
  rule.paths = {"/dev/nvme0"};
  const LocalHardware found = Read();
  ASSERT_EQ(found.nodes.size(), 1U);
  EXPECT_EQ(found.nodes[0].node, NumaId{1});
}

TEST(LocalHardwareHostTest, ReadsThisHost) {
  auto root = os::OpenFs("/");
  ASSERT_TRUE(root);
  LocalDeviceRule rule{.resource = "berth.dev/zero", .pci = {}, .paths = {"/dev/zero"}};
  const auto found = ReadLocalHardware(**root, {rule});
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->nodes.size(), 1U);
  EXPECT_EQ(found->nodes[0].path, "/dev/zero");
}

TEST(LocalHardwareHostTest, WithoutRulesNothingIsRead) {
  testkit::MemoryFs nothing;
  EXPECT_EQ(*ReadLocalHardware(nothing, {}), LocalHardware());
}

}  // namespace
}  // namespace berth::machine
