// Where plug-ins register, against played ones: good, bad, gone and back.
#include "node/device_manager/plugin_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "node/device_manager/played_plugin_test.h"
#include "testing/fixtures.h"

namespace berth::device_manager {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

const std::string kGpu = "vendor.example/gpu";
constexpr os::Millis kLong{20'000};

struct PluginServerTest : testing::Test {
  void Open(std::set<std::string> awaited = {}) {
    auto started = PluginServer::Start({.folder = temp.path(),
                                        .registry = "",
                                        .nodes = {NumaId{0}, NumaId{1}},
                                        .awaited = std::move(awaited),
                                        .patience = patience,
                                        .on_lost_socket = [this](const std::string&, const Result<void>& again) {
                                          EXPECT_TRUE(again) << again.error().message;
                                          ++made_anew;
                                          made_anew.notify_all();
                                        }});
    ASSERT_TRUE(started) << started.error().message;
    server = *std::move(started);
  }
  std::string Register(const std::string& endpoint = "gpu.sock", const std::string& resource = kGpu) {
    return RegisterAt(temp / "kubelet.sock", endpoint, resource);
  }
  bool Comes(const std::function<bool(const Known&)>& what) {
    const os::MonoTime until = os::SystemClock().Now() + kLong;
    while (os::SystemClock().Now() < until) {
      if (what(*server->known())) return true;
      os::SleepFor(os::Millis(2));
    }
    return false;
  }
  bool Healthy(std::size_t count, const std::string& resource = kGpu) {
    return Comes([&](const Known& known) {
      const auto devices = known.devices.find(resource);
      return devices != known.devices.end() &&
             std::cmp_equal(std::ranges::count(devices->second, true, &Device::healthy), count) &&
             (count == 0 || known.resources.find(resource)->second.ready);
    });
  }
  bool Told(const std::string& reason) {
    const os::MonoTime until = os::SystemClock().Now() + kLong;
    while (os::SystemClock().Now() < until) {
      for (Note& note : server->TakeNotes()) notes.push_back(std::move(note));
      if (std::ranges::find(notes, reason, &Note::reason) != notes.end()) return true;
      os::SleepFor(os::Millis(2));
    }
    return false;
  }
  std::string TextOf(const std::string& reason) {
    if (!Told(reason)) return "";
    return std::ranges::find(notes, reason, &Note::reason)->message;
  }

  testkit::TempDir temp;
  std::atomic<int> made_anew = 0;  // times that its socket was lost
  std::vector<Note> notes;
  Patience patience{.greet = kLong, .allocate = kLong, .pre_start = kLong};  // before Open
  std::unique_ptr<PluginServer> server;
};

TEST_F(PluginServerTest, APluginRegistersAndItsDevicesAndTheirHealthAreKnownAtOnce) {
  Open();
  PlayedPlugin plugin(temp / "gpu.sock");
  plugin.List({{"d0", "Healthy", {0}}, {"d1", "Healthy", {1}}});
  EXPECT_EQ(Register(), "");
  EXPECT_TRUE(Healthy(2));
  EXPECT_EQ(server->known()->devices.at(kGpu),
            (std::vector<Device>{{"d0", {NumaId{0}}, true}, {"d1", {NumaId{1}}, true}}));
  plugin.List({{"d0", "Unhealthy", {0}}, {"d1", "Healthy", {1}}});
  EXPECT_TRUE(Healthy(1));
  EXPECT_EQ(TextOf("DevicesUnhealthy"), kGpu + ": d0");
  const auto answer = server->Allocate(kGpu, {"d1"});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->env.at("DEVICES"), "d1");
  EXPECT_EQ(answer->nodes.at("d1"), NodeSet{NumaId{1}});
}

TEST_F(PluginServerTest, AStartRemovesTheSocketsOfTheFolderAndNothingElse) {
  const PlayedPlugin plugin(temp / "gpu.sock");
  std::ofstream(temp / "kubelet_internal_checkpoint") << "x";
  Open();
  struct stat info{};
  EXPECT_NE(::lstat((temp / "gpu.sock").c_str(), &info), 0);
  EXPECT_EQ(::lstat((temp / "kubelet_internal_checkpoint").c_str(), &info), 0);
  EXPECT_EQ(::lstat((temp / "kubelet.sock").c_str(), &info), 0);
  server.reset();
  EXPECT_NE(::lstat((temp / "kubelet.sock").c_str(), &info), 0);
}

TEST_F(PluginServerTest, PluginsCanRegisterAfterTheSocketWasRemoved) {
  Open();
  ASSERT_TRUE(std::filesystem::remove(temp / "kubelet.sock"));
  ASSERT_TRUE(Comes([&](const Known&) { return made_anew > 0; }));
  PlayedPlugin plugin(temp / "gpu.sock");
  plugin.List({{"d0"}});
  EXPECT_EQ(Register(), "");
  EXPECT_TRUE(Healthy(1));
}

TEST_F(PluginServerTest, TheSocketOfAKubeletThatRunsIsLeftAlone) {
  const PlayedPlugin kubelet(temp / "kubelet.sock");
  const PlayedPlugin plugin(temp / "gpu.sock");
  const auto started = PluginServer::Start({.folder = temp.path(), .nodes = {}, .awaited = {}, .patience = {}});
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, Code::kInUse);
  struct stat info{};
  EXPECT_EQ(::lstat((temp / "gpu.sock").c_str(), &info), 0);
  EXPECT_EQ(::lstat((temp / "kubelet.sock").c_str(), &info), 0);
}

TEST_F(PluginServerTest, ARegistrationIsRefusedWithItsReasonAndTold) {
  patience.greet = os::Millis(200);
  Open();
  EXPECT_THAT(Register("gpu.sock", "gpu"), HasSubstr("the ResourceName \"gpu\" is invalid"));
  EXPECT_THAT(Register("../gpu.sock"), HasSubstr("is no name of a socket"));
  EXPECT_THAT(Register("nobody.sock"), HasSubstr("failed to dial device plugin"));
  EXPECT_THAT(server->known()->devices, IsEmpty());
  EXPECT_THAT(TextOf("DevicePluginRefused"), HasSubstr("invalid"));
}

TEST_F(PluginServerTest, APluginMayRegisterBeforeItListens) {
  Open();
  std::string said = "not yet";
  std::thread registering([&] { said = Register(); });
  os::SleepFor(os::Millis(200));
  PlayedPlugin plugin(temp / "gpu.sock");
  plugin.List({{"d0"}});
  registering.join();
  EXPECT_EQ(said, "");
  EXPECT_TRUE(Healthy(1));
}

TEST_F(PluginServerTest, DevicesOfAPluginThatDiesAreUnhealthyAndGoWhenItIsNotBackInTime) {
  Open();
  PlayedPlugin plugin(temp / "gpu.sock");
  plugin.List({{"d0"}, {"d1"}});
  ASSERT_EQ(Register(), "");
  ASSERT_TRUE(Healthy(2));
  plugin.Die();
  ASSERT_TRUE(Healthy(0));
  EXPECT_FALSE(server->known()->resources.at(kGpu).ready);
  EXPECT_THAT(server->known()->devices.at(kGpu), SizeIs(2));
  EXPECT_EQ(server->Allocate(kGpu, {"d0"}).error().code, Code::kUnreachable);
  EXPECT_THAT(TextOf("DevicePluginGone"), HasSubstr("its 2 devices are unhealthy"));
  const os::MonoTime due = server->next_due();
  EXPECT_GT(due, os::SystemClock().Now() + os::Millis(290'000));
  server->Forget(due - os::Millis(1));
  EXPECT_TRUE(server->known()->devices.contains(kGpu));
  server->Forget(due);
  EXPECT_THAT(server->known()->devices, IsEmpty());
  EXPECT_THAT(server->known()->gone, ElementsAre(kGpu));
  plugin.Listen();
  EXPECT_EQ(Register(), "");
  EXPECT_TRUE(Healthy(2));
  EXPECT_THAT(server->known()->gone, IsEmpty());
}

TEST_F(PluginServerTest, ANewRegistrationReplacesTheOldOneAndItsEndIsNoNews) {
  Open();
  PlayedPlugin old_one(temp / "gpu-1.sock");
  old_one.List({{"d0"}});
  ASSERT_EQ(Register("gpu-1.sock"), "");
  ASSERT_TRUE(Healthy(1));
  PlayedPlugin new_one(temp / "gpu-2.sock");
  ASSERT_EQ(Register("gpu-2.sock"), "");
  EXPECT_FALSE(server->known()->resources.at(kGpu).ready);
  EXPECT_THAT(server->known()->devices.at(kGpu), SizeIs(1));  // until the new one has listed
  new_one.List({{"d0"}, {"d1"}, {"d2"}});
  EXPECT_TRUE(Healthy(3));
  old_one.List({});
  old_one.Die();
  os::SleepFor(os::Millis(100));
  EXPECT_TRUE(Healthy(3));
  EXPECT_EQ(server->known()->resources.at(kGpu).endpoint, "gpu-2.sock");
  EXPECT_EQ(server->known()->registrations, 2U);
}

TEST_F(PluginServerTest, ResourcesOfBeforeAreWaitedForWithoutDevices) {
  Open({kGpu});
  EXPECT_THAT(server->known()->devices.at(kGpu), IsEmpty());
  EXPECT_FALSE(server->known()->resources.at(kGpu).ready);
  EXPECT_NE(server->next_due(), os::MonoTime::max());
  PlayedPlugin plugin(temp / "gpu.sock");
  plugin.List({{"d0"}});
  ASSERT_EQ(Register(), "");
  EXPECT_TRUE(Healthy(1));
  EXPECT_EQ(server->next_due(), os::MonoTime::max());
}

TEST_F(PluginServerTest, AListThatIsTooLongEndsThePluginAndNothingElse) {
  Open();
  PlayedPlugin bad(temp / "bad.sock");
  PlayedPlugin good(temp / "gpu.sock");
  good.List({{"d0"}});
  bad.Say(std::string(10U << 20, 'x'));
  ASSERT_EQ(Register(), "");
  ASSERT_EQ(Register("bad.sock", "vendor.example/bad"), "");
  EXPECT_THAT(TextOf("DevicePluginGone"), HasSubstr("vendor.example/bad"));
  EXPECT_TRUE(Healthy(1));
  EXPECT_THAT(server->known()->devices.at("vendor.example/bad"), IsEmpty());
}

TEST_F(PluginServerTest, TenThousandDevicesAreServed) {
  Open();
  std::vector<PlayedDevice> devices(10'000);
  for (std::size_t i = 0; i < devices.size(); ++i) devices[i].id = "device-with-a-long-name-" + std::to_string(i);
  PlayedPlugin plugin(temp / "gpu.sock");
  plugin.List(devices);
  ASSERT_EQ(Register(), "");
  EXPECT_TRUE(Healthy(10'000));
}

TEST_F(PluginServerTest, APluginThatListsWithoutEndIsHeldUp) {
  Open();
  PlayedPlugin plugin(temp / "gpu.sock");
  plugin.List({{"d0"}});
  ASSERT_EQ(Register(), "");
  ASSERT_TRUE(Healthy(1));
  for (int i = 0; i < 300; ++i) {
    plugin.List({{"d0"}, {"d" + std::to_string(i % 2)}, {"d1"}});
    os::SleepFor(os::Millis(1));
  }
  EXPECT_TRUE(Healthy(2));
  EXPECT_LE(server->TakeNotes().size(), 200U);
}

TEST_F(PluginServerTest, WhatAPluginRefusesIsSaidInItsWords) {
  Open();
  PlayedPlugin plugin(temp / "gpu.sock");
  plugin.allocate = [](const auto&, const auto&) -> grpc::Reply {
    return std::unexpected(grpc::Status(grpc::StatusCode::kUnknown, "the device is on fire"));
  };
  plugin.pre_start = plugin.allocate;
  plugin.prefer = plugin.allocate;
  plugin.List({{"d0"}});
  ASSERT_EQ(Register(), "");
  ASSERT_TRUE(Healthy(1));
  EXPECT_THAT(server->Allocate(kGpu, {"d0"}).error().message, HasSubstr("the device is on fire"));
  EXPECT_THAT(server->PreStart(kGpu, {"d0"}).error().message,
              HasSubstr("device plugin PreStartContainer rpc failed with err: the device is on fire"));
  EXPECT_THAT(server->Prefer(kGpu, {.available = {"d0"}, .must = {}, .size = 1}).error().message,
              HasSubstr("device plugin GetPreferredAllocation rpc failed with err: the device is on fire"));
}

TEST_F(PluginServerTest, RegistrationsAndAllocationsAreCountedWhateverCameOfThem) {
  Open();
  PlayedPlugin plugin(temp / "gpu.sock");
  plugin.List({{"d0"}});
  EXPECT_EQ(Register(), "");
  EXPECT_NE(Register("gpu.sock", "gpu"), "");
  EXPECT_EQ(Register(), "");
  ASSERT_TRUE(Healthy(1));
  EXPECT_FALSE(server->Allocate("vendor.example/other", {"d0"})) << "nobody is asked: that is no call";
  EXPECT_TRUE(server->Allocate(kGpu, {"d0"}));
  plugin.allocate = [](const auto&, const auto&) -> grpc::Reply {
    return std::unexpected(grpc::Status(grpc::StatusCode::kUnknown, "no"));
  };
  EXPECT_FALSE(server->Allocate(kGpu, {"d0"}));
  const DeviceFigures figures = server->figures();
  EXPECT_THAT(figures.registrations, ElementsAre(Pair("gpu", 1U), Pair(kGpu, 2U)));
  ASSERT_THAT(figures.allocate_seconds, ElementsAre(Pair(kGpu, testing::_)));
  EXPECT_EQ(figures.allocate_seconds.at(kGpu).total(), 2U);
}

TEST_F(PluginServerTest, NamesThatAreRefusedAreNotCountedWithoutEnd) {
  Open();
  for (int i = 0; i < 200; ++i) EXPECT_NE(Register("gpu.sock", "made-up-" + std::to_string(i)), "");
  EXPECT_THAT(server->figures().registrations, SizeIs(128));
}

TEST_F(PluginServerTest, ACallThatIsNeverAnsweredEnds) {
  patience.allocate = os::Millis(300);
  Open();
  PlayedPlugin plugin(temp / "gpu.sock");
  plugin.allocate = [](const grpc::ServerCall& call, const auto&) -> grpc::Reply {
    while (!call.gone()) os::SleepFor(os::Millis(5));
    return std::string();
  };
  plugin.List({{"d0"}});
  ASSERT_EQ(Register(), "");
  ASSERT_TRUE(Healthy(1));
  EXPECT_EQ(server->Allocate(kGpu, {"d0"}).error().code, Code::kTimeout);
}

TEST_F(PluginServerTest, ACallWhosePluginDiesMeanwhileMayBeMadeAgain) {
  Open();
  PlayedPlugin plugin(temp / "gpu.sock");
  std::atomic<bool> asked = false;
  plugin.allocate = [&](const grpc::ServerCall& call, const auto&) -> grpc::Reply {
    asked = true;
    while (!call.gone()) os::SleepFor(os::Millis(5));
    return std::string();
  };
  plugin.List({{"d0"}});
  ASSERT_EQ(Register(), "");
  ASSERT_TRUE(Healthy(1));
  std::thread dying([&] {
    while (!asked) os::SleepFor(os::Millis(1));
    plugin.Die();
  });
  const auto answer = server->Allocate(kGpu, {"d0"});
  dying.join();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kUnreachable) << answer.error().message;
}

TEST_F(PluginServerTest, WhoWaitsForAPluginIsToldAtTheEnd) {
  Open();
  PlayedPlugin plugin(temp / "gpu.sock");
  std::atomic<bool> asked = false;
  plugin.pre_start = [&](const grpc::ServerCall& call, const auto&) -> grpc::Reply {
    asked = true;
    while (!call.gone()) os::SleepFor(os::Millis(5));
    return std::string();
  };
  plugin.List({{"d0"}});
  ASSERT_EQ(Register(), "");
  ASSERT_TRUE(Healthy(1));
  std::thread ending([&] {
    while (!asked) os::SleepFor(os::Millis(1));
    server->GiveUp();
  });
  EXPECT_FALSE(server->PreStart(kGpu, {"d0"}));
  ending.join();
  EXPECT_NE(Register(), "");
}

}  // namespace
}  // namespace berth::device_manager
