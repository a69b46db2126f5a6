#include "node/device_manager/plugin_registry.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "node/device_manager/played_plugin_test.h"
#include "node/device_manager/played_registrar_test.h"
#include "node/device_manager/plugin_server.h"
#include "testing/fixtures.h"

namespace berth::device_manager {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const std::string kFoundGpu = "vendor.example/gpu";

struct PluginRegistryTest : testing::Test {
  PluginRegistryTest() { std::filesystem::create_directory(registry); }
  void Open(const std::string& folder = "device-plugins") {
    auto started = PluginServer::Start(
        {.folder = temp / folder, .registry = registry, .nodes = {NumaId{0}}, .awaited = {}, .patience = {}});
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

  /// What went or came before has been seen.
  void Looked() {
    PluginInfo wrong = Gpu();
    wrong.name = "wrong";
    PlayedRegistrar last(At("last.sock"), wrong);
    EXPECT_TRUE(Comes([&] { return !last.told().empty(); }));
  }
  std::uint64_t Registrations() const { return server->known()->registrations; }
  std::string TextOf(const std::string& reason) {
    for (const Note& note : server->TakeNotes())
      if (note.reason == reason) return note.message;
    return "";
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

TEST_F(PluginRegistryTest, OfTwoSocketsOfOneEndpointTheOldOneMayGo) {
  PlayedPlugin plugin(temp / "gpu.sock");
  plugin.List({{"d0"}});
  Open();
  PlayedRegistrar first(At("a.sock"), Gpu(temp / "gpu.sock"));
  ASSERT_TRUE(Comes([&] { return Registrations() == 1; }));
  PlayedRegistrar second(At("b.sock"), Gpu(temp / "gpu.sock"));
  ASSERT_TRUE(Comes([&] { return Registrations() == 2 && !Healthy().empty(); }));
  std::filesystem::remove(At("a.sock"));
  Looked();
  os::SleepFor(os::Millis(50));
  EXPECT_EQ(TextOf("DevicePluginGone"), "");
  EXPECT_EQ(Registrations(), 2U);
}

TEST_F(PluginRegistryTest, WhenTheOneThatServesGoesWhoeverElseDoesIsAskedAnew) {
  Open();
  PlayedRegistrar first(At("a.sock"), Gpu());
  ASSERT_TRUE(Comes([&] { return Registrations() == 1; }));
  PlayedRegistrar second(At("b.sock"), Gpu());
  ASSERT_TRUE(Comes([&] { return Registrations() == 2; }));
  std::filesystem::remove(At("b.sock"));
  EXPECT_TRUE(Comes([&] { return Registrations() == 3; }));
  EXPECT_TRUE(Comes([&] { return !Healthy().empty(); }));
  EXPECT_EQ(server->known()->resources.at(kFoundGpu).endpoint, At("a.sock"));
}

TEST_F(PluginRegistryTest, OtherRightsMakeNoOtherPlugin) {
  struct statx info{};
  if (::statx(AT_FDCWD, registry.c_str(), 0, STATX_BTIME, &info) != 0 || (info.stx_mask & STATX_BTIME) == 0)
    GTEST_SKIP() << "this file system keeps no birth times";
  Open();
  PlayedRegistrar registrar(At("gpu.sock"), Gpu());
  ASSERT_TRUE(Comes([&] { return registrar.told().size() == 1; }));
  std::filesystem::permissions(At("gpu.sock"), std::filesystem::perms::owner_all);
  Looked();
  EXPECT_EQ(registrar.told().size(), 1U);
  EXPECT_EQ(TextOf("DevicePluginGone"), "");
}

TEST_F(PluginRegistryTest, WithoutAFolderForItPluginsRegisterAllTheSame) {
  std::ofstream(temp / "file") << "no folder";
  registry = temp / "file/plugins_registry";
  Open();
  EXPECT_THAT(TextOf("PluginRegistryProblem"), HasSubstr(registry));
  PlayedPlugin plugin(temp / "device-plugins/gpu.sock");
  plugin.List({{"d0"}});
  EXPECT_EQ(RegisterAt(temp / "device-plugins/kubelet.sock", "gpu.sock", kFoundGpu), "");
  EXPECT_TRUE(Comes([&] { return Healthy() == std::vector<std::string>{"d0"}; }));
}

TEST_F(PluginRegistryTest, ARunningKubeletKeepsItsOwn) {
  std::filesystem::create_directory(temp / "device-plugins");
  const PlayedPlugin kubelet(temp / "device-plugins/kubelet.sock");
  PlayedRegistrar registrar(At("gpu.sock"), Gpu());
  Open("others");
  EXPECT_THAT(TextOf("PluginRegistryProblem"), HasSubstr("a kubelet listens at"));
  os::SleepFor(os::Millis(100));
  EXPECT_THAT(registrar.told(), IsEmpty());
}

TEST_F(PluginRegistryTest, ASlashAtTheEndOfTheFolderIsNoOtherRegistry) {
  EXPECT_EQ(RegistryBeside("/k/device-plugins"), "/k/plugins_registry");
  EXPECT_EQ(RegistryBeside("/k/device-plugins//"), "/k/plugins_registry");
  EXPECT_EQ(RegistryBeside("/"), "/plugins_registry");
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
}  // namespace berth::device_manager
