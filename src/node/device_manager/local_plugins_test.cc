#include "node/device_manager/local_plugins.h"

#include <gtest/gtest.h>

#include <string>

namespace berth::device_manager {
namespace {

/// A plug-in for "vendor.example/gpu", and one that claims a local resource.
class SomePlugins final : public Plugins {
 public:
  SomePlugins() {
    Known now;
    now.devices["vendor.example/gpu"] = {{.id = "g0"}};
    now.resources["vendor.example/gpu"].ready = true;
    state = std::make_shared<Known>(now);
  }
  void Claim(const std::string& resource) {
    Known now = *state;
    now.devices[resource] = {{.id = "theirs"}};
    now.resources[resource].endpoint = "theirs.sock";
    state = std::make_shared<Known>(now);
  }
  int event_fd() const override { return -1; }
  std::shared_ptr<const Known> known() const override { return state; }
  std::vector<Note> TakeNotes() override { return {}; }
  DeviceFigures figures() const override { return {}; }
  os::MonoTime next_due() const override { return os::MonoTime::max(); }
  void Forget(os::MonoTime) override {}
  Result<DeviceAnswer> Allocate(const std::string&, const std::vector<std::string>&) override {
    return DeviceAnswer{.nodes = {}, .env = {{"FROM", "plug-in"}}};
  }
  Result<void> PreStart(const std::string&, const std::vector<std::string>&) override {
    return Fail(Code::kInternal, "asked");
  }
  Result<std::vector<std::string>> Prefer(const std::string&, const PreferenceQuestion&) override {
    return std::vector<std::string>{"g0"};
  }
  std::shared_ptr<const Known> state;
};

struct LocalPluginsTest : testing::Test {
  LocalPluginsTest() {
    LocalDeviceRule rule;
    rule.resource = "berth.dev/serial";
    rule.paths = {"/dev/ttyUSB*"};
    LocalHardware hardware;
    hardware.nodes = {{.path = "/dev/ttyUSB0", .node = NumaId{1}, .pci = ""}};
    plugins = *WithLocalDevices(&some, {rule}, hardware);
  }
  SomePlugins some;
  std::unique_ptr<Plugins> plugins;
};

TEST_F(LocalPluginsTest, TheirResourcesAndOursAreKnown) {
  const auto known = plugins->known();
  EXPECT_EQ(known->devices.at("vendor.example/gpu").front().id, "g0");
  EXPECT_EQ(known->devices.at("berth.dev/serial").front().id, "/dev/ttyUSB0");
  EXPECT_TRUE(known->resources.at("berth.dev/serial").ready);
  EXPECT_EQ(plugins->known(), known) << "the same until something changes";
  some.Claim("vendor.example/nic");
  EXPECT_TRUE(plugins->known()->devices.contains("vendor.example/nic"));
  EXPECT_FALSE(known->devices.contains("vendor.example/nic"));
}

TEST_F(LocalPluginsTest, OursAreAnsweredForWithoutThem) {
  const auto ours = plugins->Allocate("berth.dev/serial", {"/dev/ttyUSB0"});
  ASSERT_TRUE(ours);
  EXPECT_EQ(ours->device_nodes.front().host_path, "/dev/ttyUSB0");
  EXPECT_FALSE(plugins->Allocate("berth.dev/serial", {"/dev/ttyUSB1"}));
  EXPECT_TRUE(plugins->PreStart("berth.dev/serial", {"/dev/ttyUSB0"}));
  EXPECT_TRUE(plugins->Prefer("berth.dev/serial", {})->empty());
  EXPECT_EQ(plugins->Allocate("vendor.example/gpu", {"g0"})->env.at("FROM"), "plug-in");
  EXPECT_FALSE(plugins->PreStart("vendor.example/gpu", {"g0"}));
  EXPECT_EQ(plugins->Prefer("vendor.example/gpu", {})->front(), "g0");
}

TEST_F(LocalPluginsTest, APluginThatClaimsOneOfOursIsToldOfOnceAndNotHeard) {
  EXPECT_TRUE(plugins->TakeNotes().empty());
  some.Claim("berth.dev/serial");
  const std::vector<Note> notes = plugins->TakeNotes();
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes.front().reason, "DevicePluginIgnored");
  EXPECT_TRUE(plugins->TakeNotes().empty());
  EXPECT_EQ(plugins->known()->devices.at("berth.dev/serial").front().id, "/dev/ttyUSB0");
}

}  // namespace
}  // namespace berth::device_manager
