// Pods with devices under a berthd that is killed, and plug-ins that are killed, replaced and get sick, at each stage.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "daemon_fixture.h"
#include "plugin/played_plugin_test.h"

namespace berth::testkit {
namespace {

using plugin::PlayedDevice;
using plugin::PlayedPlugin;

const std::string kGpu = "vendor.example/gpu";

struct DaemonDeviceTest : testing::Test {
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
    folder = node.Dir("plugins");
    std::filesystem::create_directory(folder);
    std::ofstream(node.Dir("berth.yaml")) << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\n"
                                          << "devicePluginDir: " << folder << "\n";
    StartBerthd();
  }
  void StartBerthd() { node.Start({"--config", node.Dir("berth.yaml"), "--socket", node.socket()}); }
  /// A plug-in that registers, as after its start; one before it is gone.
  void Serve(const std::string& endpoint = "gpu.sock") {
    served.reset();
    served = std::make_unique<PlayedPlugin>(folder + "/" + endpoint);
    const wire::UnaryHandler usual = served->allocate;
    served->allocate = [this, usual](const wire::ServerCall& call, const std::string& request) {
      ++asked;
      while (hold && !call.gone()) os::SleepFor(os::Millis(5));
      return usual(call, request);
    };
    served->List(devices);
    EXPECT_EQ(plugin::RegisterAt(folder + "/kubelet.sock", endpoint, kGpu), "");
  }
  void Add(const std::string& name) {
    node.AddPod(name + ".yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
                                    "}\nspec:\n  terminationGracePeriodSeconds: 1\n  containers:\n  - name: app\n"
                                    "    command: [/bin/sh, -c, 'exec sleep 1000']\n"
                                    "    resources: {limits: {" +
                                    kGpu + ": 1}}\n");
  }
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

  std::atomic<bool> hold = false;
  std::atomic<int> asked = 0;
  std::vector<PlayedDevice> devices = {{"d0", "Healthy", {0}}, {"d1", "Healthy", {0}}, {"d2", "Healthy", {0}}};
  std::string folder;
  DaemonFixture node;
  std::unique_ptr<PlayedPlugin> served;  // before node in destruction: berthd sees it go
};

TEST_F(DaemonDeviceTest, APodGetsADeviceAndTheNextOneAnother) {
  Serve();
  EXPECT_TRUE(node.Until("three healthy devices", [&] { return Healthy(3); }));
  Add("a");
  Add("b");
  EXPECT_TRUE(node.Until("both run", [&] { return node.Runs("a") && node.Runs("b"); })) << node.output();
  EXPECT_NE(DeviceOf("a"), DeviceOf("b"));
  EXPECT_EQ(asked, 2);
  RemoveAll({"a", "b"});
}

TEST_F(DaemonDeviceTest, DevicesThatSettingsNameNeedNoPlugin) {
  EXPECT_EQ(node.Stop(), 0);
  std::ofstream(node.Dir("berth.yaml")) << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nlocalDevices:\n"
                                        << "- {resource: " << kGpu << ", paths: [/dev/zero, /dev/full]}\n";
  StartBerthd();
  EXPECT_TRUE(node.Until("two devices", [&] { return Healthy(2); }));
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

TEST_F(DaemonDeviceTest, APluginThatNeverAnswersCostsOnlyItsPods) {
  hold = true;
  Serve();
  Add("a");
  EXPECT_TRUE(node.Until("it is asked", [&] { return asked == 1; }));
  node.AddPod("plain.yaml", SpinnerManifest("plain", ""));
  EXPECT_TRUE(node.Until("another pod runs", [&] { return node.Runs("plain"); }));
  EXPECT_EQ(ReasonOf("a"), "AllocatingDevices");
  node.RemovePod("a.yaml");
  EXPECT_TRUE(node.Until("it is gone", [&] { return !node.PodNamed("a").is_object(); }));
  hold = false;
  RemoveAll({"plain"});
}

/// What happens to the plug-in and to berthd, and when.
enum class ToPlugin { kNothing, kKilled, kReplaced, kSick };
enum class ToBerthd { kNothing, kKilled, kStopped };
enum class When { kBeforeRegistration, kInAllocate, kWhileItRuns };

/// Pod "old" runs all the time; pod "new" is made. In the end both run, with a device each, "old" was never restarted,
/// and everything is given back.
TEST_F(DaemonDeviceTest, NoDeviceIsGivenTwiceOrLostWhateverEndsWhen) {
  int cases = 0;
  for (const When when : {When::kBeforeRegistration, When::kInAllocate, When::kWhileItRuns})
    for (const ToBerthd berthd : {ToBerthd::kNothing, ToBerthd::kKilled, ToBerthd::kStopped})
      for (const ToPlugin plug_in : {ToPlugin::kNothing, ToPlugin::kKilled, ToPlugin::kReplaced, ToPlugin::kSick}) {
        SCOPED_TRACE(testing::Message() << "when " << static_cast<int>(when) << ", berthd " << static_cast<int>(berthd)
                                        << ", plug-in " << static_cast<int>(plug_in));
        ++cases;
        hold = false;
        devices = {{"d0"}, {"d1"}, {"d2"}};
        Serve();
        Add("old");
        ASSERT_TRUE(node.Until("the old pod runs", [&] { return node.Runs("old"); })) << node.output();
        const int pid = node.Pids().at("old-n1/app");
        const std::string held = DeviceOf("old");
        const int before = asked;
        if (when == When::kBeforeRegistration) served.reset();
        if (when == When::kInAllocate) hold = true;
        Add("new");
        if (when == When::kInAllocate) {
          ASSERT_TRUE(node.Until("it is asked", [&] { return asked > before; }));
        }
        if (when == When::kWhileItRuns) {
          ASSERT_TRUE(node.Until("the new pod runs", [&] { return node.Runs("new"); }));
        }
        if (plug_in == ToPlugin::kKilled && served) served->Die();
        if (plug_in == ToPlugin::kReplaced) Serve("gpu-2.sock");
        if (plug_in == ToPlugin::kSick && served) served->List({{"d0", "Unhealthy"}, {"d1"}, {"d2", "Unhealthy"}});
        if (berthd == ToBerthd::kKilled) node.Kill();
        if (berthd == ToBerthd::kStopped) {
          EXPECT_EQ(node.Stop(), 0);
        }
        if (berthd != ToBerthd::kNothing) StartBerthd();
        hold = false;
        Serve();
        ASSERT_TRUE(node.Until("both run", [&] { return node.Runs("old") && node.Runs("new"); }))
            << ReasonOf("old") << " " << ReasonOf("new") << node.output();
        EXPECT_EQ(node.Pids().at("old-n1/app"), pid);
        EXPECT_EQ(DeviceOf("old"), held);
        EXPECT_NE(DeviceOf("new"), "");
        EXPECT_NE(DeviceOf("new"), held);
        RemoveAll({"old", "new"});
      }
  EXPECT_EQ(cases, 36);
}

}  // namespace
}  // namespace berth::testkit
