// Devices of plug-ins on the way of a pod: waited for, asked for, kept, given back. The plug-ins are played.
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/fake_node_test.h"
#include "daemon/fake_plugins_test.h"
#include "simulator/offline/pod_explanation.h"

namespace berth::daemon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

struct DeviceTest : PodManagerTest {
  DeviceTest() : plugins(world.steps) { world.plugins = &plugins; }
  void Tell(TestManager& manager) { manager.OnDevices(Now()); }
  const DeviceAssignment* Held(const std::string& name) {
    if (!world.store.saved) return nullptr;
    const auto record = world.store.saved->ledger.pods.find("uid-" + name);
    if (record == world.store.saved->ledger.pods.end() || record->second.placements.empty()) return nullptr;
    const auto& devices = record->second.placements.front().devices;
    return devices.empty() ? nullptr : &devices.front();
  }
  std::string Reason(TestManager& manager, const std::string& name) {
    const auto pod = manager.pods().find("uid-" + name);
    return pod == manager.pods().end() ? "none" : pod->second.why().reason;
  }
  /// DEVICES of the container that started last.
  std::string Variable() const {
    for (const auto& [name, value] : world.runtime.last_request->env)
      if (name == "DEVICES") return value;
    return "";
  }
  /// What events of this reason say, one entry for those in a row.
  std::vector<std::string> Told(std::string_view reason) {
    std::vector<std::string> out;
    for (const Event& event : world.events.events())
      if (event.reason == reason) out.push_back(event.message);
    return out;
  }
  bool Runs(const std::string& name) { return world.runtime.Runs("uid-" + name, name); }

  FakePlugins plugins;
};

TEST_F(DeviceTest, WhatDevicesBringIsSavedBeforeTheContainerStarts) {
  plugins.Serve(Gpus(2));
  auto manager = Boot();
  world.steps.ClearLog();
  manager->OnSnapshot(Wanting({GpuPod("web")}), Now());
  EXPECT_TRUE(Runs("web"));
  EXPECT_THAT(plugins.calls, ElementsAre("allocate d0"));
  EXPECT_EQ(FormatIds(manager->ledger().shared), "0,2-3");
  ASSERT_NE(Held("web"), nullptr);
  EXPECT_EQ(Held("web")->answer->env.at("DEVICES"), "d0");
  const int taken = world.steps.Find("save");
  const int asked = world.steps.Find("allocate");
  const int answered = world.steps.Find("save", asked);
  EXPECT_LT(taken, asked);
  EXPECT_LT(asked, answered);
  EXPECT_LT(answered, world.steps.Find("start web"));
}

TEST_F(DeviceTest, NoDeviceIsGivenTwiceAndWhatIsGivenBackGoesToWhoWaited) {
  plugins.Serve(Gpus(1));
  auto manager = Boot();
  manager->OnSnapshot(Wanting({GpuPod("a")}), Now());
  manager->OnSnapshot(Wanting({GpuPod("a"), GpuPod("b")}), Now());
  EXPECT_TRUE(Runs("a"));
  EXPECT_FALSE(Runs("b"));
  EXPECT_EQ(Reason(*manager, "b"), "UnexpectedAdmissionError");
  manager->OnSnapshot(Wanting({GpuPod("b")}), Now());
  manager->OnRuntime(Now());
  for (int i = 0; i < 3; ++i) Advance(*manager, os::Millis(2'000));
  EXPECT_TRUE(Runs("b")) << manager->pods().at("uid-b").why().message;
  EXPECT_EQ(Held("a"), nullptr);
}

TEST_F(DeviceTest, APodWhosePluginIsAwayWaitsAndGoesOnWhenItIsBack) {
  plugins.Await();
  auto manager = Boot();
  manager->OnSnapshot(Wanting({GpuPod("web"), MakePod("other", "1")}), Now());
  EXPECT_EQ(Reason(*manager, "web"), "WaitingForPlugin");
  EXPECT_TRUE(Runs("other"));
  EXPECT_EQ(Held("web"), nullptr);
  plugins.Serve(Gpus(1));
  Tell(*manager);
  EXPECT_TRUE(Runs("web"));
}

TEST_F(DeviceTest, ThatAPodWaitsForItsPluginIsToldOnceAndAgainWhenItDoesSoAnew) {
  plugins.Await();
  auto manager = Boot();
  manager->OnSnapshot(Wanting({GpuPod("web")}), Now());
  for (int i = 0; i < 3; ++i) Advance(*manager, os::Millis(2'000));
  EXPECT_THAT(Told("WaitingForPlugin"),
              ElementsAre("the device plug-in of vendor.example/gpu is not there, and is waited for"));
  plugins.Serve(Gpus(1), {.pre_start = true});
  Tell(*manager);
  ASSERT_TRUE(Runs("web"));
  plugins.Await();
  Tell(*manager);
  world.runtime.Exit("uid-web_web_0", 1);
  manager->OnRuntime(Now());
  for (int i = 0; i < 10; ++i) Advance(*manager, os::Millis(2'000));
  EXPECT_FALSE(Runs("web"));
  EXPECT_THAT(Told("WaitingForPlugin"),
              ElementsAre(testing::_,
                          "container web: the device plug-in of vendor.example/gpu is not there, and is "
                          "waited for"));
}

TEST_F(DeviceTest, WhatBecomesOfADeviceThatIsHeldIsToldOnceToItsPod) {
  plugins.Serve(Gpus(3));
  auto manager = Boot();
  manager->OnSnapshot(Wanting({GpuPod("web", "2")}), Now());
  ASSERT_TRUE(Runs("web"));
  const auto list = [&](std::vector<Device> devices) {
    plugins.Serve(devices);
    Tell(*manager);
    Advance(*manager, os::Millis(2'000));
  };
  list({{.id = "d0", .healthy = false}, {.id = "d1"}, {.id = "d2", .healthy = false}});
  list({{.id = "d0", .healthy = false}, {.id = "d1"}, {.id = "d2"}});
  EXPECT_THAT(Told("DeviceUnhealthy"),
              ElementsAre("container web holds vendor.example/gpu d0: its plug-in calls that unhealthy"));
  plugins.Leave();
  Tell(*manager);
  EXPECT_EQ(Told("DeviceUnhealthy").size(), 1U) << "a plug-in that is away says nothing";
  list({{.id = "d0"}, {.id = "d2"}});
  EXPECT_THAT(Told("DeviceHealthy"), ElementsAre("container web holds vendor.example/gpu d0: healthy again"));
  EXPECT_THAT(Told("DeviceUnhealthy"),
              ElementsAre(testing::_, "container web holds vendor.example/gpu d1: no plug-in has that any more"));
  list(Gpus(3));
  EXPECT_EQ(Told("DeviceHealthy").size(), 2U);
  EXPECT_TRUE(Runs("web")) << "it is left alone";
}

TEST_F(DeviceTest, ADeviceThatIsHeldAndGoneAtAStartIsTold) {
  plugins.Serve(Gpus(2));
  {
    auto manager = Boot();
    manager->OnSnapshot(Wanting({GpuPod("web")}), Now());
    ASSERT_TRUE(Runs("web"));
  }
  plugins.Serve({{.id = "d1"}});
  auto manager = Boot();
  EXPECT_THAT(Told("DeviceUnhealthy"),
              ElementsAre("container web holds vendor.example/gpu d0: no plug-in has that any more"));
}

TEST_F(DeviceTest, APluginThatHasGoneIsWaitedForThoughNobodyHasLookedYet) {
  plugins.Serve(Gpus(1));
  auto manager = Boot();
  plugins.Leave();
  manager->OnSnapshot(Wanting({GpuPod("web")}), Now());
  EXPECT_EQ(Reason(*manager, "web"), "WaitingForPlugin");
  plugins.Serve(Gpus(1));
  Tell(*manager);
  EXPECT_TRUE(Runs("web"));
}

TEST_F(DeviceTest, APluginThatGoesWhileItIsAskedIsAskedAgainAndThePodKeepsItsPlace) {
  plugins.Serve(Gpus(1));
  plugins.error = Error{.code = Code::kUnreachable, .sys = 0, .message = "gone"};
  auto manager = Boot();
  plugins.Leave();
  auto before = Boot();
  plugins.Serve(Gpus(1));
  Tell(*manager);
  plugins.error.reset();
  manager->OnSnapshot(Wanting({GpuPod("web")}), Now());
  EXPECT_TRUE(Runs("web"));
}

TEST_F(DeviceTest, WhatAPluginRefusesIsRejectedInItsWordsAndNothingIsKept) {
  plugins.Serve(Gpus(1));
  plugins.error = Error{.code = Code::kInternal, .sys = 0, .message = "the device is on fire"};
  auto manager = Boot();
  manager->OnSnapshot(Wanting({GpuPod("web")}), Now());
  EXPECT_EQ(Reason(*manager, "web"), "UnexpectedAdmissionError");
  EXPECT_EQ(manager->pods().at("uid-web").why().message,
            "Allocate failed due to the device is on fire, which is unexpected");
  EXPECT_THAT(world.store.saved->ledger.pods, IsEmpty());
  EXPECT_EQ(FormatIds(CpusAt("berth")), "0-3");
  const std::size_t asked = plugins.calls.size();
  for (int i = 0; i < 5; ++i) Advance(*manager, os::Millis(5'000));
  EXPECT_EQ(plugins.calls.size(), asked) << "it is not asked again and again";
  plugins.error.reset();
  plugins.Serve(Gpus(1));
  Tell(*manager);
  Advance(*manager, os::Millis(2'000));
  EXPECT_TRUE(Runs("web")) << "a plug-in that has registered since may do better";
}

TEST_F(DeviceTest, APodThatGoesWhileItsPluginIsAskedLeavesNothing) {
  plugins.Serve(Gpus(1));
  auto manager = Boot();
  PodManager& bare = manager->bare();
  bare.OnSnapshot(Wanting({GpuPod("web")}));
  while (manager->pods().empty() || pods::QuestionOf(manager->pods().begin()->second.stage) == 0) {
    bare.Tick(Now());
    if (!manager->pods().empty() && pods::QuestionOf(manager->pods().begin()->second.stage) != 0) break;
    manager->executor().RunOne();
  }
  manager->OnSnapshot(Wanting({}), Now());
  Advance(*manager, os::Millis(2'000));
  EXPECT_THAT(manager->pods(), IsEmpty());
  EXPECT_THAT(manager->ledger().pods, IsEmpty());
}

/// The node stops and boots: no process and no group is left, and plug-ins have to register anew.
void Reboot(FakeNode& world, FakePlugins& plugins) {
  plugins.Await();
  world.steps.set_check(nullptr);
  world.runtime.containers.clear();
  world.runtime.changed.clear();
  for (const std::string& path : {std::string("kubepods"), cgroup::Names().Own()}) EXPECT_TRUE(world.tree.Remove(path));
  world.options.boot.boot_id = "the boot after";
  world.steps.set_check([&world] { world.CheckPromises(); });
}

/// Berthd, and the node where `reboot` says so, ends in place of step `die` of two pods that want a device each; both
/// run in the end.
void DieAndComeBack(int die, bool reboot) {
  FakeNode node(MakeNode());
  FakePlugins played(node.steps);
  node.plugins = &played;
  played.Serve(Gpus(2));
  std::unique_ptr<TestManager> manager = node.Boot();
  ASSERT_TRUE(manager->Start(std::nullopt, node.clock.Now()));
  node.steps.DieAt(die);
  try {
    manager->OnSnapshot(Wanting({GpuPod("a"), GpuPod("b")}), node.clock.Now());
  } catch (const Died&) {
  }
  node.steps.DieAt(std::nullopt);
  if (reboot) Reboot(node, played);
  manager = node.Boot();
  played.Await();  // plug-ins have to register anew
  ASSERT_TRUE(manager->Start(node.store.saved, node.clock.Now()));
  manager->OnSnapshot(Wanting({GpuPod("a"), GpuPod("b")}), node.clock.Now());
  played.Serve(Gpus(2));
  manager->OnDevices(node.clock.Now());
  node.clock.Advance(os::Millis(20'000));
  manager->Sync(node.clock.Now());
  EXPECT_TRUE(node.runtime.Runs("uid-a", "a"));
  EXPECT_TRUE(node.runtime.Runs("uid-b", "b"));
  std::vector<std::string> ids;
  for (const auto& [uid, record] : node.store.saved->ledger.pods) {
    ASSERT_TRUE(record.placements.front().devices.front().answer) << uid;
    ids.push_back(record.placements.front().devices.front().ids.front());
  }
  std::ranges::sort(ids);
  EXPECT_THAT(ids, ElementsAre("d0", "d1"));
}

TEST_F(DeviceTest, ANodeOrBerthdThatEndsAtAnyStepGivesNoDeviceTwiceAndStartsNothingWithoutAnAnswer) {
  int steps = 0;
  {
    plugins.Serve(Gpus(2));
    auto manager = Boot();
    world.steps.DieAt(1'000'000);
    manager->OnSnapshot(Wanting({GpuPod("a"), GpuPod("b")}), Now());
    steps = world.steps.count();
  }
  ASSERT_GT(steps, 10);
  for (int die = 0; die < steps; ++die)
    for (const bool reboot : {false, true}) {
      SCOPED_TRACE(std::to_string(die) + (reboot ? " rebooted" : ""));
      DieAndComeBack(die, reboot);
    }
}

TEST_F(DeviceTest, AfterARebootPodsKeepTheirDevicesAndStartWhenItIsKnownWhetherThePluginWantsToBeAsked) {
  plugins.Serve(Gpus(3), {.pre_start = true});
  Boot()->OnSnapshot(Wanting({GpuPod("a"), GpuPod("b")}), Now());
  plugins.calls.clear();
  Reboot(world, plugins);
  auto manager = Boot();
  EXPECT_TRUE(HasEvent("Rebooted"));
  manager->OnSnapshot(Wanting({GpuPod("c"), GpuPod("b"), GpuPod("a")}), Now());
  Advance(*manager, os::Millis(20'000));
  EXPECT_FALSE(Runs("a"));
  EXPECT_EQ(Reason(*manager, "c"), "WaitingForPlugin");
  EXPECT_THAT(plugins.calls, IsEmpty());
  plugins.Serve(Gpus(3), {.pre_start = true});
  Tell(*manager);
  Advance(*manager, os::Millis(2'000));
  for (const char* const name : {"a", "b", "c"}) EXPECT_TRUE(Runs(name)) << name;
  EXPECT_THAT(plugins.calls, UnorderedElementsAre("prestart d0", "prestart d1", "allocate d2", "prestart d2"));
  EXPECT_THAT(Held("a")->ids, ElementsAre("d0"));
  EXPECT_THAT(Held("b")->ids, ElementsAre("d1"));
  EXPECT_THAT(Held("c")->ids, ElementsAre("d2"));
}

TEST_F(DeviceTest, APodThatIsGoneAfterARebootGivesItsDeviceBack) {
  plugins.Serve(Gpus(1));
  Boot()->OnSnapshot(Wanting({GpuPod("a")}), Now());
  Reboot(world, plugins);
  auto manager = Boot();
  manager->OnSnapshot(Wanting({GpuPod("b")}), Now());
  plugins.Serve(Gpus(1));
  Tell(*manager);
  for (int i = 0; i < 3; ++i) Advance(*manager, os::Millis(2'000));
  EXPECT_TRUE(Runs("b")) << Reason(*manager, "b");
  EXPECT_EQ(Held("a"), nullptr);
}

TEST_F(DeviceTest, APluginIsAskedWhichDevicesItPrefers) {
  plugins.Serve(Gpus(3), {.preferred = true});
  plugins.prefers = {"d2", "d9"};
  auto manager = Boot();
  manager->OnSnapshot(Wanting({GpuPod("web")}), Now());
  EXPECT_THAT(plugins.calls, ElementsAre("prefer 1 of d0,d1,d2", "allocate d2"));
  EXPECT_TRUE(Runs("web"));
}

TEST_F(DeviceTest, APreferenceThatFailsRejectsThePod) {
  plugins.Serve(Gpus(3), {.preferred = true});
  plugins.error = Error{.code = Code::kTimeout, .sys = 0, .message = "no answer"};
  auto manager = Boot();
  manager->OnSnapshot(Wanting({GpuPod("web")}), Now());
  EXPECT_EQ(Reason(*manager, "web"), "UnexpectedAdmissionError");
  EXPECT_THAT(manager->ledger().pods, IsEmpty());
}

TEST_F(DeviceTest, APluginThatWantsItIsAskedBeforeEachStart) {
  plugins.Serve(Gpus(1), {.pre_start = true});
  auto manager = Boot();
  manager->OnSnapshot(Wanting({GpuPod("web")}), Now());
  EXPECT_TRUE(Runs("web"));
  EXPECT_THAT(plugins.calls, ElementsAre("allocate d0", "prestart d0"));
  world.runtime.Exit("uid-web_web_0", 1);
  manager->OnRuntime(Now());
  Advance(*manager, os::Millis(60'000));
  EXPECT_TRUE(Runs("web"));
  EXPECT_THAT(plugins.calls, ElementsAre("allocate d0", "prestart d0", "prestart d0"));
}

TEST_F(DeviceTest, AContainerDoesNotStartBeforeItsPluginLetsIt) {
  plugins.Serve(Gpus(1), {.pre_start = true});
  plugins.pre_start_error = Error{.code = Code::kInternal, .sys = 0, .message = "still resetting"};
  auto manager = Boot();
  manager->OnSnapshot(Wanting({GpuPod("web")}), Now());
  EXPECT_FALSE(Runs("web"));
  EXPECT_TRUE(HasEvent("FailedCreatePodContainer"));
  EXPECT_NE(Held("web"), nullptr) << "it keeps what it has";
  plugins.pre_start_error.reset();
  Advance(*manager, os::Millis(60'000));
  EXPECT_TRUE(Runs("web"));
}

TEST_F(DeviceTest, APodKeepsItsDevicesWhenThePluginGoesAndItsContainerStartsAgain) {
  plugins.Serve(Gpus(1));
  auto manager = Boot();
  manager->OnSnapshot(Wanting({GpuPod("web")}), Now());
  plugins.Leave();
  Tell(*manager);
  EXPECT_TRUE(Runs("web"));
  world.runtime.Exit("uid-web_web_0", 1);
  manager->OnRuntime(Now());
  Advance(*manager, os::Millis(60'000));
  EXPECT_TRUE(Runs("web"));
  EXPECT_THAT(plugins.calls, ElementsAre("allocate d0"));
}

/// Init container "first", sidecar "side" and container "app", which want so many each.
Pod PodOfThree(std::string_view first, std::string_view side, std::string_view app) {
  Pod pod = MakePod("app", "1");
  const Container like = pod.containers.front();
  for (const char* const name : {"first", "side"}) {
    pod.init_containers.push_back(like);
    pod.init_containers.back().name = name;
  }
  pod.init_containers.back().restartable_init = true;
  WantGpus(pod.init_containers.front(), first);
  WantGpus(pod.init_containers.back(), side);
  WantGpus(pod.containers.front(), app);
  return pod;
}

/// The pod's containers in order, with the devices they hold, as they are saved.
std::vector<std::string> HeldByEach(const FakeNode& world) {
  std::vector<std::string> out;
  for (const auto& [uid, record] : world.store.saved->ledger.pods)
    for (const Placement& placement : record.placements)
      for (const DeviceAssignment& given : placement.devices)
        out.push_back(fmt::format("{} {} {}", placement.container, fmt::join(given.ids, ","),
                                  given.answer ? given.answer->env.at("DEVICES") : "unanswered"));
  return out;
}

TEST_F(DeviceTest, WhatAnInitContainerHadGoesToTheNextAndASidecarKeepsItsOwn) {
  plugins.Serve(Gpus(3));
  auto manager = Boot();
  const Pod pod = PodOfThree("2", "1", "2");
  manager->OnSnapshot(Wanting({pod}), Now());
  EXPECT_THAT(plugins.calls, ElementsAre("allocate d0,d1", "allocate d0", "allocate d1,d2"));
  const std::vector<std::string> held = {"first d0,d1 d0,d1", "side d0 d0", "app d1,d2 d1,d2"};
  EXPECT_EQ(HeldByEach(world), held);
  EXPECT_TRUE(world.runtime.Runs(pod.uid, "first"));
  EXPECT_FALSE(world.runtime.Runs(pod.uid, "side")) << "its device is still the init container's";
  EXPECT_EQ(Variable(), "d0,d1");
  world.runtime.Exit("uid-app_first_0", 0);
  manager->OnRuntime(Now());
  Advance(*manager, os::Millis(2'000));
  EXPECT_TRUE(world.runtime.Runs(pod.uid, "side"));
  EXPECT_TRUE(world.runtime.Runs(pod.uid, "app"));
  EXPECT_EQ(Variable(), "d1,d2");
  world.runtime.Exit("uid-app_side_0", 1);
  manager->OnRuntime(Now());
  Advance(*manager, os::Millis(60'000));
  EXPECT_TRUE(world.runtime.Runs(pod.uid, "side"));
  EXPECT_EQ(Variable(), "d0");
  EXPECT_EQ(plugins.calls.size(), 3U) << "a container that starts again has what it had";
  manager = Boot();
  manager->OnSnapshot(Wanting({pod, GpuPod("other")}), Now());
  EXPECT_EQ(HeldByEach(world), held);
  EXPECT_THAT(manager->pods().at("uid-other").why().message, HasSubstr("devices unavailable for " + kGpu));
}

TEST_F(DeviceTest, ASidecarsDeviceIsNoReuseForTheContainerBesideIt) {
  plugins.Serve(Gpus(1));
  auto manager = Boot();
  manager->OnSnapshot(Wanting({PodOfThree("1", "1", "1")}), Now());
  EXPECT_EQ(Reason(*manager, "app"), "UnexpectedAdmissionError");
  EXPECT_THAT(manager->ledger().pods, IsEmpty());
  EXPECT_THAT(plugins.calls, IsEmpty());
}

TEST_F(DeviceTest, AResourceThatNobodyHasIsRefusedWithTheNearestNameAndTakenWhenAPluginComes) {
  auto manager = Boot();
  manager->OnSnapshot(Wanting({GpuPod("web")}), Now());
  EXPECT_EQ(Reason(*manager, "web"), "OutOfvendor.example/gpu");
  plugins.Serve(Gpus(1));
  Tell(*manager);
  Advance(*manager, os::Millis(2'000));
  EXPECT_TRUE(Runs("web"));
  Pod misspelt = MakePod("b", "1");
  misspelt.containers.front().resources.limits.emplace("vendor.example/gpus", *Quantity::Parse("1"));
  manager->OnSnapshot(Wanting({GpuPod("web"), misspelt}), Now());
  EXPECT_EQ(Reason(*manager, "b"), "OutOfvendor.example/gpus");
  EXPECT_THAT(manager->pods().at("uid-b").why().details.back(), HasSubstr("vendor.example/gpu"));
}

TEST_F(DeviceTest, TheNodeHasTheDevicesThatPluginsHave) {
  plugins.Serve({{.id = "d0"}, {.id = "d1", .nodes = {}, .healthy = false}});
  auto manager = Boot();
  EXPECT_EQ(manager->core().devices().capacity().at(kGpu).Value(), 2);
  EXPECT_EQ(manager->core().devices().allocatable().at(kGpu).Value(), 1);
}

TEST_F(DeviceTest, APluginThatIsBackBeforeTheLoopHearsOfItIsAskedAgain) {
  plugins.Serve(Gpus(2));
  auto manager = Boot();
  plugins.during_allocate = [this] { plugins.Serve(Gpus(2)); };
  manager->OnSnapshot(Wanting({GpuPod("web")}), Now());
  Tell(*manager);
  EXPECT_TRUE(Runs("web"));
  EXPECT_FALSE(HasEvent("UnexpectedAdmissionError"));
}

/// Pods of every size of these, one after another; each was explained on the same node just before.
TEST_F(DeviceTest, WhatIsExplainedIsWhatIsDecided) {
  plugins.Serve(Gpus(3));
  auto manager = Boot();
  std::vector<Pod> wanted;
  int admitted = 0;
  int rejected = 0;
  for (int i = 0; i < 60; ++i) {
    const int gpus = i % 5;
    Pod pod = MakePod("p" + std::to_string(i), std::to_string(1 + i % 3),
                      i % 4 == 3 ? QosClass::kBurstable : QosClass::kGuaranteed);
    if (gpus > 0) WantGpus(pod.containers.front(), std::to_string(gpus));
    const Outlook outlook = offline::ExplainNow(manager->node(), manager->ledger(), manager->core().Conditions(), pod,
                                                {.devices = plugins.known()->devices, .preferred_devices = {}},
                                                world.options.pods.node_name);
    EXPECT_FALSE(outlook.wait) << pod.name;
    wanted.push_back(pod);
    manager->OnSnapshot(Wanting(wanted), Now());
    const auto record = manager->ledger().pods.find(pod.uid);
    if (const auto* const reject = std::get_if<Reject>(&outlook.explanation.decision)) {
      ++rejected;
      EXPECT_EQ(manager->pods().at(pod.uid).why().reason, reject->reason) << pod.name;
      EXPECT_EQ(manager->pods().at(pod.uid).why().message, reject->message) << pod.name;
      EXPECT_EQ(record, manager->ledger().pods.end()) << pod.name;
    } else {
      ++admitted;
      ASSERT_NE(record, manager->ledger().pods.end()) << pod.name;
      const Placement& explained = std::get<Admit>(outlook.explanation.decision).delta.put->placements.front();
      const Placement& given = record->second.placements.front();
      EXPECT_EQ(given.cpus, explained.cpus) << pod.name;
      EXPECT_EQ(given.devices.empty(), explained.devices.empty()) << pod.name;
      if (!given.devices.empty() && !explained.devices.empty()) {
        EXPECT_EQ(given.devices.front().ids, explained.devices.front().ids) << pod.name;
      }
    }
    if (wanted.size() < 3) continue;
    wanted.erase(wanted.begin());
    manager->OnSnapshot(Wanting(wanted), Now());
    manager->OnRuntime(Now());
    Advance(*manager, std::chrono::seconds(1));
  }
  EXPECT_GT(admitted, 10);
  EXPECT_GT(rejected, 10);
}

}  // namespace
}  // namespace berth::daemon
