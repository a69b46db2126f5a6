#include "plugin/plugin_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plugin/played_plugin_test.h"
#include "plugin/played_registrar_test.h"
#include "plugin/plugin_server.h"
#include "testing/fixtures.h"

namespace berth::plugin {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const std::string kFoundGpu = "vendor.example/gpu";

struct PluginRegistryTest : testing::Test {
  PluginRegistryTest() { std::filesystem::create_directory(registry); }
  void Open() {
    auto started = PluginServer::Start(
        {.folder = temp / "device-plugins", .registry = registry, .nodes = {NumaId{0}}, .awaited = {}, .patience = {}});
    ASSERT_TRUE(started) << started.error().message;
    server = *std::move(started);
  }
  std::string At(const std::string& name) const { return registry + "/" + name; }
  static PluginInfo Gpu(std::string endpoint = "") {
    return {.type = "DevicePlugin", .name = kFoundGpu, .endpoint = std::move(endpoint), .versions = {"v1beta1"}};
  }
  bool Comes(const std::function<bool()>& what) {
    for (int i = 0; i < 4'000; ++i) {
      if (what()) return true;
      os::SleepFor(os::Millis(5));
    }
    return false;
  }
  /// Ids of healthy devices of the resource.
  std::vector<std::string> Healthy() {
    std::vector<std::string> out;
    const auto known = server->known();
    const auto devices = known->devices.find(kFoundGpu);
    if (devices == known->devices.end()) return out;
    for (const Device& device : devices->second)
      if (device.healthy) out.push_back(device.id);
    return out;
  }

  testkit::TempDir temp;
  std::string registry = temp / "plugins_registry";
  std::unique_ptr<PluginServer> server;
};

TEST_F(PluginRegistryTest, PluginsAreFoundWhetherTheyCameBeforeOrAfterTheStart) {
  PlayedPlugin plugin(temp / "gpu.sock");
  plugin.List({{"d0"}, {"d1"}});
  PlayedRegistrar registrar(At("gpu-reg.sock"), Gpu(temp / "gpu.sock"));
  Open();
  EXPECT_TRUE(Comes([&] { return Healthy() == std::vector<std::string>{"d0", "d1"}; }));
  EXPECT_TRUE(Comes([&] { return registrar.told() == std::vector<std::string>{""}; }));
  PlayedRegistrar later(At("later.sock"), Gpu());
  EXPECT_TRUE(Comes([&] { return Healthy() == std::vector<std::string>{"own"}; })) << "it serves at its own socket";
  EXPECT_EQ(server->known()->resources.at(kFoundGpu).endpoint, At("later.sock"));
  EXPECT_EQ(server->figures().registrations.at(kFoundGpu), 2U);
}

TEST_F(PluginRegistryTest, WhatHasNoSocketAnyMoreIsGoneAndJoinsAgainWithANewOne) {
  Open();
  PlayedRegistrar registrar(At("gpu.sock"), Gpu());
  ASSERT_TRUE(Comes([&] { return !Healthy().empty(); }));
  std::filesystem::remove(At("gpu.sock"));
  EXPECT_TRUE(Comes([&] { return Healthy().empty(); }));
  EXPECT_FALSE(server->known()->resources.at(kFoundGpu).ready);
  PlayedRegistrar again(At("gpu.sock"), Gpu());
  EXPECT_TRUE(Comes([&] { return !Healthy().empty(); }));
  EXPECT_EQ(server->known()->registrations, 2U);
}

TEST_F(PluginRegistryTest, PluginsOfOtherTypesAreLeftAloneAndWrongOnesAreToldWhy) {
  PluginInfo storage = Gpu();
  storage.type = "CSIPlugin";
  PluginInfo old = Gpu();
  old.versions = {"v1alpha"};
  PluginInfo nameless = Gpu();
  nameless.name = "gpu";
  PluginInfo relative = Gpu("gpu.sock");
  PlayedRegistrar other(At("csi.sock"), storage);
  PlayedRegistrar hidden(At(".hidden.sock"), Gpu());
  PlayedRegistrar first(At("old.sock"), old);
  PlayedRegistrar second(At("nameless.sock"), nameless);
  PlayedRegistrar third(At("relative.sock"), relative);
  Open();
  for (PlayedRegistrar* wrong : {&first, &second, &third}) ASSERT_TRUE(Comes([&] { return !wrong->told().empty(); }));
  EXPECT_THAT(first.told().front(), HasSubstr("none of the versions of vendor.example/gpu is supported"));
  EXPECT_EQ(second.told().front(), "the ResourceName \"gpu\" is invalid");
  EXPECT_THAT(third.told().front(), HasSubstr("is no absolute path"));
  EXPECT_TRUE(Comes([&] { return first.told().size() > 1; })) << "it is asked again";
  EXPECT_THAT(other.told(), IsEmpty());
  EXPECT_THAT(hidden.told(), IsEmpty());
  EXPECT_THAT(server->known()->devices, IsEmpty());
}

TEST_F(PluginRegistryTest, OneThatDoesNotAnswerHoldsUpNobody) {
  PlayedRegistrar silent(At("a.sock"), Gpu());
  silent.silent = true;
  Open();
  PlayedRegistrar gpu(At("b.sock"), Gpu());
  EXPECT_TRUE(Comes([&] { return Healthy() == std::vector<std::string>{"own"}; }));
  server.reset();  // nor the end
  silent.silent = false;
}

}  // namespace
}  // namespace berth::plugin
