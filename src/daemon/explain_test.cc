// What LocalApi::Explain tells of a pod, and `berth run --dry-run` and `berth explain` with it, against what becomes of
// the pod when the node gets it the next moment.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "api/codec/codec.h"
#include "base/text.h"
#include "daemon/fake_node_test.h"
#include "daemon/fake_plugins_test.h"
#include "daemon/local_api.h"
#include "daemon/published.h"
#include "daemon/snapshot_builder.h"
#include "frontend/pod_sources/static_pod.h"
#include "host/event_loop/loop.h"
#include "host/os/capabilities.h"
#include "host/os/clock.h"
#include "manifest/manifest.h"
#include "node/device_manager/plugins.h"

namespace berth::daemon {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Four CPUs of which one is reserved, and limits for memory and processes.
allocator::Node NodeWithLimits() {
  const allocator::Node plain = MakeNode();
  KubeletConfiguration config = plain.config();
  config.eviction_hard = {{"memory.available", "100Mi"}, {"pid.available", "100"}};
  auto node = allocator::Node::Make(plain.machine(), config);
  EXPECT_TRUE(node) << node.error().message;
  return *node;
}

/// A node before the pod comes that is asked about.
struct Scene {
  std::string name;
  std::vector<Pod> there{};        ///< given one after another
  std::vector<std::string> end{};  ///< of these, by name: they were deleted, and end slowly
  allocator::QueueRules queue{};
  cgroup::HostFigures figures{};  ///< zero: not known
  bool plugin_away = false;
  bool disk_full = false;  ///< after `there`
};

Pod Critical(Pod pod) {
  pod.priority = kCriticalPriority;
  return pod;
}

Pod AtPort(Pod pod) {
  pod.containers.front().ports.push_back({.port = 8080, .host_port = 8080});
  return pod;
}

Pod WithGpus(Pod pod, std::string_view count) {
  WantGpus(pod.containers.front(), count);
  return pod;
}

std::vector<Scene> Scenes() {
  const allocator::QueueRules preempting{.preempt_for_critical = true};
  return {
      {.name = "room, and a port that is taken", .there = {AtPort(MakePod("web", "1"))}},
      {.name = "full", .there = {MakePod("a", "2"), WithGpus(MakePod("b", "1"), "2")}},
      {.name = "one comes first", .there = {MakePod("a", "2"), MakePod("first", "3")}, .queue = {.most_waiting = 10}},
      {.name = "the queue is full", .there = {MakePod("a", "2"), MakePod("first", "3")}, .queue = {.most_waiting = 1}},
      {.name = "others go for critical pods", .there = {MakePod("a", "2"), MakePod("b", "1")}, .queue = preempting},
      {.name = "some are going already",
       .there = {MakePod("a", "2"), MakePod("b", "1"), Critical(MakePod("c", "1"))},
       .queue = preempting},
      {.name = "some are ending", .there = {MakePod("a", "3")}, .end = {"a"}},
      {.name = "memory is short", .figures = {.memory = MiB(1000), .working_set = MiB(950)}},
      {.name = "processes are short", .figures = {.memory = MiB(1000), .processes = 950, .most_processes = 1000}},
      {.name = "the plug-in is away", .there = {MakePod("web", "1")}, .plugin_away = true},
      {.name = "the disk is full", .there = {MakePod("web", "1")}, .disk_full = true},
  };
}

std::vector<Pod> PodsOf(const std::string& text, const std::string& file) {
  auto parsed = manifest::ParsePods(text, file, {.to_be_run = false});
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? std::move(parsed->pods) : std::vector<Pod>();
}

/// A pod that gets CPUs of its own, in more ways.
std::vector<Pod> Variants(const Pod& pod) {
  Pod able = pod;
  able.containers.front().security.add_capabilities = {"NET_ADMIN"};
  Pod misspelt = pod;
  Pod large = pod;
  for (const auto amounts : {&Resources::requests, &Resources::limits}) {
    (misspelt.containers.front().resources.*amounts).emplace("vendor.example/gpus", *Quantity::Parse("1"));
    (large.containers.front().resources.*amounts).insert_or_assign("cpu", *Quantity::Parse("9"));
  }
  return {WithGpus(pod, "1"),
          WithGpus(pod, "3"),
          WithGpus(Critical(pod), "1"),
          Critical(pod),
          AtPort(pod),
          able,
          misspelt,
          large};
}

/// Manifests: of each pod of tests/shapes, and of one of them in more ways.
std::vector<std::string> PodsToAskAbout() {
  std::vector<std::string> out;
  const auto add = [&](const Pod& pod) { out.push_back(codec::FormatJson(codec::ToJson(pod))); };
  for (const auto& file : std::filesystem::directory_iterator(testkit::SourcePath("tests/shapes"))) {
    if (file.path().extension() != ".yaml") continue;
    const std::vector<Pod> pods = PodsOf(testkit::ReadText(file.path()), file.path());
    EXPECT_EQ(pods.size(), 1U) << file.path();
    for (const Pod& pod : pods) {
      add(pod);
      if (pod.name == "deadline") add(WithGpus(pod, "1"));  // without CPUs of its own
      if (pod.name != "exclusive") continue;
      for (const Pod& variant : Variants(pod)) add(variant);
    }
  }
  return out;
}

std::string PlacesText(const std::vector<Placement>& placements) {
  std::string out = "admitted";
  for (const Placement& placement : placements) {
    out += fmt::format("; {}: CPUs {}", placement.container, placement.cpus ? FormatIds(*placement.cpus) : "shared");
    for (const DeviceAssignment& devices : placement.devices)
      out += fmt::format(", {} {}", devices.resource, Join(devices.ids, " "));
  }
  return out;
}

/// The words for what is awaited differ where it has not begun yet.
std::string WaitText(const std::string& reason, const std::string& message) {
  return "waits, " + reason + (reason == "WaitingForRelease" ? "" : ": " + message);
}

std::string OutlookText(const Outlook& outlook) {
  if (outlook.wait) return WaitText(outlook.wait->reason, outlook.wait->message);
  if (const auto* const reject = std::get_if<Reject>(&outlook.explanation.decision))
    return "rejected, " + reject->reason + ": " + reject->message;
  return PlacesText(std::get<Admit>(outlook.explanation.decision).delta.put->placements);
}

std::string OutcomeText(const TestManager& manager, const std::string& uid) {
  const auto found = manager.pods().find(uid);
  if (found == manager.pods().end()) return "nothing";
  const ManagedPod& pod = found->second;
  const auto* const rejected = std::get_if<pods::Rejected>(&pod.stage);
  if (pod.Is<pods::Waiting>() || (rejected != nullptr && rejected->place > 0))
    return WaitText(pod.why().reason, pod.why().message);
  if (rejected != nullptr) return "rejected, " + pod.why().reason + ": " + pod.why().message;
  const auto record = manager.ledger().pods.find(uid);
  return record == manager.ledger().pods.end() ? "without a place" : PlacesText(record->second.placements);
}

/// A node in a scene.
struct ExplainedNode {
  explicit ExplainedNode(const Scene& scene, const allocator::Node& node, device_manager::PluginOptions options = {})
      : world(node), plugins(world.steps) {
    world.plugins = &plugins;
    world.pod_options.queue = scene.queue;
    world.pod_options.rules.capabilities =
        os::kAllCapabilities & ~os::CapabilityBit(*os::CapabilityNumber("NET_ADMIN"));
    world.runtime.deaf = true;
    plugins.Serve(Gpus(2), options);
    manager = world.Boot();
    EXPECT_TRUE(manager->Start(std::nullopt, world.clock.Now()));
    for (const Pod& pod : scene.there) Give(pod);
    if (scene.plugin_away) plugins.Leave();
    manager->OnDevices(world.clock.Now());
    if (scene.figures != cgroup::HostFigures()) world.tree.figures = scene.figures;
    world.clock.Advance(std::chrono::seconds(11));
    manager->Sync(world.clock.Now());
    world.store.full = scene.disk_full;
    if (scene.disk_full) Give(MakePod("not-saved", "1"));
    std::erase_if(wanted, [&](const Pod& pod) { return std::ranges::find(scene.end, pod.name) != scene.end.end(); });
    if (!scene.end.empty()) manager->OnSnapshot(Wanting(wanted), world.clock.Now());
  }
  void Give(const Pod& pod) {
    wanted.push_back(pod);
    manager->OnSnapshot(Wanting(wanted), world.clock.Now());
  }
  Outlook Ask(const Pod& pod, event_loop::Loop& loop) { return Ask(codec::FormatJson(codec::ToJson(pod)), loop); }
  Outlook Ask(const std::string& manifest, event_loop::Loop& loop) {
    SnapshotBuilder builder(manager->bare(), world.events, DaemonFacts{.version = "1", .runtime = "process"});
    const Published<LoopState> published(builder.Build());
    const std::string& node_name = manager->core().options().pods.node_name;
    LocalApi api(published, loop, nullptr, nullptr, nullptr, TreeDoor{}, nullptr, nullptr, nullptr,
                 PodFolder("", node_name),
                 ApplyRules{.node = manager->bare().static_pods().options().rules, .node_name = node_name});
    auto outlook = api.Explain({.manifest = manifest});
    EXPECT_TRUE(outlook) << outlook.error().message;
    return outlook ? *std::move(outlook) : Outlook();
  }

  FakeNode world;
  FakePlugins plugins;
  std::vector<Pod> wanted;
  std::unique_ptr<TestManager> manager;
};

struct ExplainTest : testing::Test {
  std::unique_ptr<event_loop::Loop> loop = *event_loop::Loop::Open(os::SystemClock());
  allocator::Node node = NodeWithLimits();
};

TEST_F(ExplainTest, WhatIsToldOfAPodIsWhatBecomesOfIt) {
  const std::vector<std::string> asked = PodsToAskAbout();
  ASSERT_GT(asked.size(), 20U);
  std::set<std::string> outcomes;
  for (const Scene& scene : Scenes())
    for (const std::string& manifest : asked) {
      ExplainedNode there(scene, node);
      const std::string told = OutlookText(there.Ask(manifest, *loop));
      Pod pod = PodsOf(manifest, "asked").at(0);
      pod_sources::MakeStatic(pod, "n1", "file:/pods/asked.yaml", "file");
      there.Give(pod);
      EXPECT_EQ(told, OutcomeText(*there.manager, pod.uid)) << scene.name << ": " << manifest;
      outcomes.insert(told.substr(0, told.find_first_of(":;")));
    }
  for (const char* const outcome :
       {"admitted", "rejected, CapabilityMissing", "rejected, NodePorts", "rejected, OthersComeFirst",
        "rejected, OutOfcpu", "rejected, OutOfvendor.example/gpus", "waits, LedgerNotSaved", "waits, NodeUnderPressure",
        "waits, WaitingForPlugin", "waits, WaitingForRelease", "waits, WaitingForRoom"})
    EXPECT_TRUE(outcomes.contains(outcome)) << outcome;
}

TEST_F(ExplainTest, APodThatWaitsKeepsItsPlaceInTheQueueWhenItIsAskedAbout) {
  const Scene scene{
      .name = "the queue is full", .there = {MakePod("a", "2"), MakePod("first", "3")}, .queue = {.most_waiting = 1}};
  ExplainedNode there(scene, node);
  EXPECT_THAT(OutlookText(there.Ask(scene.there.back(), *loop)), HasSubstr("waits, WaitingForRoom"));
  EXPECT_THAT(OutlookText(there.Ask(MakePod("second", "3"), *loop)), HasSubstr("rejected, "));
}

TEST_F(ExplainTest, WhoHoldsTheDevicesIsNamedAndWhoWouldGoForACriticalPod) {
  const Scene full{
      .name = "full", .there = {WithGpus(MakePod("b", "1"), "2")}, .queue = {.preempt_for_critical = true}};
  ExplainedNode there(full, node);
  const Pod pod = WithGpus(MakePod("asked", "1"), "1");
  const Outlook outlook = there.Ask(pod, *loop);
  ASSERT_THAT(outlook.explanation.holders, SizeIs(1));
  EXPECT_EQ(outlook.explanation.holders.front().pod, "default/b");
  const Outlook critical = there.Ask(Critical(pod), *loop);
  ASSERT_TRUE(critical.wait && critical.explanation.removal);
  EXPECT_EQ(critical.wait->message, "default/b would be evicted to make room for it");
}

TEST_F(ExplainTest, DevicesThatAPluginChoosesAreNotPromised) {
  const Scene empty{.name = "empty"};
  const Pod pod = WithGpus(MakePod("asked", "1"), "1");
  ExplainedNode choosy(empty, node, {.preferred = true});
  EXPECT_THAT(choosy.Ask(pod, *loop).notes, SizeIs(1));
  EXPECT_THAT(choosy.Ask(MakePod("plain", "1"), *loop).notes, IsEmpty());
  ExplainedNode plain(empty, node);
  EXPECT_THAT(plain.Ask(pod, *loop).notes, IsEmpty());
}

}  // namespace
}  // namespace berth::daemon
