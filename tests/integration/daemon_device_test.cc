// Pods with devices of real plug-ins under a real berthd, as processes and in containerd's containers:
// docs/rules/devices.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cri_node.h"
#include "daemon_fixture.h"
#include "device_matrix.h"
#include "device_peer.h"
#include "run_program.h"

namespace berth::testkit {
namespace {

const std::string kGpu = "vendor.example/gpu";

struct DaemonDeviceTest : testing::Test {
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
    folder = node.Dir("plugins");
    std::filesystem::create_directory(folder);
    std::ofstream(node.Dir("berth.yaml")) << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n"
                                          << "devicePluginDir: " << folder << "\n";
  }
  void StartBerthd() { node.Start({"--config", node.Dir("berth.yaml"), "--socket", node.socket()}); }
  void Serve() {
    served = StartPeer({.folder = folder,
                        .resource = kGpu,
                        .endpoint = "gpu.sock",
                        .devices = {{"d0"}, {"d1"}, {"d2"}},
                        .scratch = node.Dir("")});
  }
  void Add(const std::string& name) { node.AddPod(name + ".yaml", DevicePod(name, kGpu, 1)); }
  std::string DeviceOf(const std::string& name) {
    const codec::Json pod = node.PodNamed(name);
    if (!pod.is_object() || !pod["containers"][0].contains("devices")) return "";
    const codec::Json& held = pod["containers"][0]["devices"];
    return held.contains(kGpu) && !held[kGpu].empty() ? held[kGpu][0].get<std::string>() : "";
  }
  std::string ReasonOf(const std::string& name) {
    const codec::Json pod = node.PodNamed(name);
    return pod.is_object() ? pod.value("reason", "") : "none";
  }
  bool Healthy(int count) {
    const codec::Json shown = node.Get("/v1/node");
    return shown.is_object() && shown["allocatable"].contains(kGpu) &&
           shown["allocatable"][kGpu] == std::to_string(count);
  }
  void RemoveAll(const std::vector<std::string>& names) {
    for (const std::string& name : names) node.RemovePod(name + ".yaml");
    EXPECT_TRUE(node.Until("all pods are gone", [&] { return node.Get("/v1/pods")["pods"].empty(); }));
  }

  std::string folder;
  DaemonFixture node;
  std::unique_ptr<DevicePeer> served;  // before node in destruction: berthd sees it go
};

TEST_F(DaemonDeviceTest, APodGetsADeviceAndTheNextOneAnother) {
  StartBerthd();
  Serve();
  EXPECT_TRUE(node.Until("three healthy devices", [&] { return Healthy(3); }));
  Add("a");
  Add("b");
  EXPECT_TRUE(node.Until("both run", [&] { return node.Runs("a") && node.Runs("b"); })) << node.output();
  EXPECT_NE(DeviceOf("a"), DeviceOf("b"));
  EXPECT_EQ(served->asked(), 2);
  RemoveAll({"a", "b"});
}

TEST_F(DaemonDeviceTest, DevicesThatSettingsNameNeedNoPlugin) {
  std::ofstream(node.Dir("berth.yaml")) << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nlocalDevices:\n"
                                        << "- {resource: " << kGpu << ", paths: [/dev/zero, /dev/full]}\n";
  StartBerthd();
  EXPECT_TRUE(node.Until("two devices", [&] { return Healthy(2); }));
  EXPECT_EQ(node.Get("/v1/devices").at(kGpu).at(0).at("id"), "/dev/full") << "what there is and where, for berth map";
  Add("a");
  Add("b");
  ASSERT_TRUE(node.Until("both run", [&] { return node.Runs("a") && node.Runs("b"); })) << node.output();
  EXPECT_EQ((std::set<std::string>{DeviceOf("a"), DeviceOf("b")}), (std::set<std::string>{"/dev/full", "/dev/zero"}));
  const std::string environment = ReadText("/proc/" + std::to_string(node.Pids().at("a-n1/app")) + "/environ");
  EXPECT_TRUE(environment.contains("BERTH_DEVICE_VENDOR_EXAMPLE_GPU=" + DeviceOf("a") + '\0')) << environment;
  Add("c");
  EXPECT_TRUE(node.Until("the third is refused", [&] { return !ReasonOf("c").empty() && ReasonOf("c") != "none"; }));
  node.RemovePod("a.yaml");
  EXPECT_TRUE(node.Until("the third runs", [&] { return node.Runs("c"); })) << ReasonOf("c") << node.output();
  RemoveAll({"b", "c"});
}

TEST_F(DaemonDeviceTest, AnExportedStateNamesAllDevicesThatAreRegistered) {
  StartBerthd();
  Serve();
  ASSERT_TRUE(node.Until("three healthy devices", [&] { return Healthy(3); }));
  Add("a");
  ASSERT_TRUE(node.Until("it runs", [&] { return node.Runs("a"); })) << node.output();
  const Ran exported = Berth({"state", "export", "--socket", node.socket(), "--to", node.Dir("exported")});
  ASSERT_EQ(exported.status, 0) << exported.err;
  const codec::Json file =
      codec::Json::parse(ReadText(node.Dir("exported/device-plugins/kubelet_internal_checkpoint")));
  const codec::Json& data = file.at("Data");
  EXPECT_EQ(data.at("RegisteredDevices").dump(), R"({"vendor.example/gpu":["d0","d1","d2"]})");
  ASSERT_EQ(data.at("PodDeviceEntries").size(), 1U);
  EXPECT_EQ(data.at("PodDeviceEntries")[0].at("DeviceIDs").dump(), R"({"0":[")" + DeviceOf("a") + R"("]})");
  RemoveAll({"a"});
}

TEST_F(DaemonDeviceTest, PluginsRegisterAfterTheSocketForThatWasRemoved) {
  StartBerthd();
  ASSERT_TRUE(std::filesystem::remove(folder + "/kubelet.sock"));
  EXPECT_TRUE(
      node.Until("that is told", [&] { return node.CountEvents("SocketLost", folder + "/kubelet.sock") == 1; }));
  Serve();
  EXPECT_TRUE(node.Until("three healthy devices", [&] { return Healthy(3); }));
}

TEST_F(DaemonDeviceTest, ADryRunSaysOfADeviceWhatTheRunComesTo) {
  std::ofstream(node.Dir("berth.yaml")) << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nlocalDevices:\n"
                                        << "- {resource: " << kGpu << ", paths: [/dev/zero]}\n";
  StartBerthd();
  ASSERT_TRUE(node.Until("a device", [&] { return Healthy(1); }));
  const auto run = [&](std::vector<std::string> words) {
    words.insert(words.begin(),
                 {"run", "--socket", node.socket(), "--cpus", "500m", "--memory", "64Mi", "--device", kGpu});
    words.insert(words.end(), {"--", "true"});
    return Berth(words);
  };
  const Ran promised = run({"--dry-run"});
  EXPECT_EQ(promised.status, 0) << promised.err;
  EXPECT_TRUE(promised.out.contains(kGpu + ": /dev/zero")) << promised.out;
  const Ran ran = run({});
  EXPECT_EQ(ran.status, 0) << ran.err;
  EXPECT_TRUE(ran.err.contains(kGpu + " /dev/zero")) << ran.err;
  Add("a");
  ASSERT_TRUE(node.Until("it runs", [&] { return node.Runs("a"); })) << ReasonOf("a") << node.output();
  const Ran refused = run({"--dry-run"});
  EXPECT_EQ(refused.status, 3) << refused.err;
  EXPECT_TRUE(refused.out.contains("default/a-n1")) << "who holds it: " << refused.out;
  EXPECT_EQ(run({}).status, 3);
  RemoveAll({"a"});
}

TEST_F(DaemonDeviceTest, APluginThatNeverAnswersCostsOnlyItsPods) {
  StartBerthd();
  Serve();
  served->Hold(true);
  Add("a");
  EXPECT_TRUE(node.Until("it is asked", [&] { return served->asked() == 1; }));
  node.AddPod("plain.yaml", SpinnerManifest("plain", ""));
  EXPECT_TRUE(node.Until("another pod runs", [&] { return node.Runs("plain"); }));
  EXPECT_EQ(ReasonOf("a"), "AllocatingDevices");
  node.RemovePod("a.yaml");
  EXPECT_TRUE(node.Until("it is gone", [&] { return !node.PodNamed("a").is_object(); }));
  served->Hold(false);
  RemoveAll({"plain"});
}

TEST_F(DaemonDeviceTest, APodOfTwoResourcesHoldsUpNobodyWhoWantsOneOfThem) {
  const std::string nic = "vendor.example/nic";
  StartBerthd();
  Serve();
  std::filesystem::create_directory(node.Dir("nic"));
  const auto silent = StartPeer({.folder = folder,
                                 .resource = nic,
                                 .endpoint = "nic.sock",
                                 .devices = {{"n0"}, {"n1"}},
                                 .scratch = node.Dir("nic")});
  silent->Hold(true);
  EXPECT_TRUE(node.Until("devices", [&] { return Healthy(3) && silent->registered(); }));
  std::string both = DevicePod("both", kGpu, 1);
  const std::string one = kGpu + ": ";
  const std::size_t at = both.find(one);
  ASSERT_NE(at, std::string::npos) << both;
  both.insert(at, nic + ": 1, ");
  node.AddPod("both.yaml", both);
  ASSERT_TRUE(node.Until("the silent one is asked", [&] { return silent->asked() == 1; })) << both << node.output();
  Add("a");
  EXPECT_TRUE(node.Until("who wants the other's only runs", [&] { return node.Runs("a"); }));
  EXPECT_EQ(ReasonOf("both"), "AllocatingDevices");
  silent->Hold(false);
  EXPECT_TRUE(node.Until("the pod of both runs", [&] { return node.Runs("both"); }));
  RemoveAll({"a", "both"});
}

TEST_F(DaemonDeviceTest, NoDeviceIsGivenTwiceOrLostWhateverEndsWhen) {
  using End = DeviceMatrix::End;
  EXPECT_EQ(DeviceMatrix(node, folder, "", [&] { StartBerthd(); }).Run({End::kNone, End::kKilled, End::kStopped}), 90);
  EXPECT_TRUE(node.Until("nothing is left", [&] { return node.Leftovers().empty(); }));
}

TEST_F(DaemonDeviceTest, NorOfPluginsThatAreFoundByTheirSockets) {
  const std::string registry = node.Dir("plugins_registry");
  EXPECT_EQ(DeviceMatrix(node, folder, registry, [&] { StartBerthd(); }).Run({DeviceMatrix::End::kKilled}), 30);
  EXPECT_TRUE(node.Until("nothing is left", [&] { return node.Leftovers().empty(); }));
}

struct DaemonCriDeviceTest : CriNodeTest {
  void SetUp() override {
    CriNodeTest::SetUp();
    if (IsSkipped()) return;
    folder = berthd->Dir("plugins");
    std::filesystem::create_directory(folder);
    settings = "devicePluginDir: " + folder + "\n";
  }
  std::string folder;
};

TEST_F(DaemonCriDeviceTest, AContainerHasTheVariableTheMountAndTheNodeOfItsDevice) {
  const std::string driver = berthd->Dir("driver");
  std::ofstream(driver) << "driver 7\n";
  Start();
  const auto plugin = StartPeer({.folder = folder,
                                 .resource = kGpu,
                                 .endpoint = "gpu.sock",
                                 .devices = {{"d0"}},
                                 .scratch = berthd->Dir(""),
                                 .mounts = {{driver, "/opt/driver"}},
                                 .nodes = {{"/dev/kmsg", "/dev/gpu0"}}});
  const std::string look =
      "echo $DEVICES; cat /opt/driver; (echo > /opt/driver) 2>/dev/null || echo read-only; (: > /dev/gpu0) && echo "
      "opened; "
      "stat -c %t:%T /dev/gpu0";
  const std::string once = "  restartPolicy: Never\n";
  Add({.name = "has", .script = look, .spec = once, .container = "    resources: {limits: {" + kGpu + ": 1}}\n"});
  Add({.name = "none", .script = "ls /opt/driver /dev/gpu0 2>/dev/null; echo with $DEVICES", .spec = once});
  EXPECT_TRUE(berthd->Until("both are over", [&] { return Phase("has", "Succeeded") && Phase("none", "Succeeded"); }));
  EXPECT_EQ(WordsOf("has"), "d0\ndriver 7\nread-only\nopened\n1:b\n");
  EXPECT_EQ(WordsOf("none"), "with\n");
  for (const char* const pod : {"has", "none"}) Remove(pod);
  ExpectNothingLeft();
}

TEST_F(DaemonCriDeviceTest, WhatAnInitContainerHadGoesToTheNextAndASidecarKeepsItsOwn) {
  Start();
  const auto plugin = StartPeer({.folder = folder,
                                 .resource = kGpu,
                                 .endpoint = "gpu.sock",
                                 .devices = {{"d0"}, {"d1"}, {"d2"}},
                                 .scratch = berthd->Dir("")});
  const auto init = [](const std::string& name, const std::string& script, const std::string& count) {
    return "  - name: " + name + "\n    image: " + kTestImage + "\n    command: [\"/bin/sh\", \"-c\", \"" + script +
           "\"]\n    resources: {limits: {" + kGpu + ": " + count + "}}\n";
  };
  Add({.name = "three",
       .script = "echo $DEVICES",
       .spec = "  restartPolicy: Never\n  initContainers:\n" + init("first", "echo $DEVICES", "2") +
               init("side", std::string("echo $DEVICES; ") + kIdle, "1") + "    restartPolicy: Always\n",
       .container = "    resources: {limits: {" + kGpu + ": 2}}\n"});
  EXPECT_TRUE(berthd->Until("it is over", [&] { return Phase("three", "Succeeded"); }));
  // Which of them is the plug-in's to prefer.
  const auto held = [&](const std::string& container) {
    const std::string words = WordsOf("three", container);
    const std::vector<std::string_view> ids = Split(Trim(words), ',');
    return std::set<std::string>(ids.begin(), ids.end());
  };
  const std::set<std::string> first = held("first");
  const std::set<std::string> side = held("side");
  const std::set<std::string> app = held("app");
  EXPECT_EQ(first.size(), 2U);
  EXPECT_EQ(side.size(), 1U);
  EXPECT_EQ(app.size(), 2U);
  EXPECT_TRUE(std::ranges::includes(first, side)) << "what the first had is given on";
  std::set<std::string> all = app;
  all.insert(side.begin(), side.end());
  EXPECT_EQ(all, (std::set<std::string>{"d0", "d1", "d2"})) << "the app has what the sidecar has not";
  EXPECT_EQ(plugin->asked(), 3);
  Remove("three");
  ExpectNothingLeft();
}

TEST_F(DaemonCriDeviceTest, NoDeviceIsGivenTwiceOrLostWhateverEndsWhen) {
  using End = DeviceMatrix::End;
  EXPECT_EQ(DeviceMatrix(*berthd, folder, "", [&] { Start(); }).Run({End::kNone, End::kKilled}), 60);
  ExpectNothingLeft();
}

}  // namespace
}  // namespace berth::testkit
