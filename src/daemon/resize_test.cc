// Pods whose manifest asks for more or less while they run.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "daemon/fake_node_test.h"
#include "frontend/pod_sources/static_pod.h"
#include "frontend/static_pods/resizer.h"
#include "model/resize_changes.h"

namespace berth::daemon {
namespace {

constexpr const char* kWebsUid = "0123456789abcdef0123456789abcdef";  // as one that is made of a manifest
constexpr const char* kWebsGroup = "kubepods/pod0123456789abcdef0123456789abcdef/web";
constexpr const char* kBacksGroup = "kubepods/besteffort/poduid-back/back";

/// "web" with CPUs of its own beside "back" in the shared pool, on four CPUs of which CPU 0 is reserved.
struct ResizeOfPodsTest : PodManagerTest {
  ResizeOfPodsTest() { world.resizing = true; }

  static Pod Web(const std::string& cpus, const std::string& memory = "1Mi") {
    Pod pod = MakePod("web", cpus);
    pod.uid = kWebsUid;
    Resources& resources = pod.containers[0].resources;
    resources.requests["memory"] = resources.limits["memory"] = *Quantity::Parse(memory);
    return pod;
  }
  const Pod back = MakePod("back", "", QosClass::kBestEffort);

  void Want(TestManager& manager, const Pod& web) { manager.OnSnapshot(Wanting({back, web}), Now()); }
  /// Some seconds pass.
  void Later(TestManager& manager) {
    for (int i = 0; i < 5; ++i) {
      Advance(manager, os::Millis(1'000));
      manager.OnRuntime(Now());
    }
  }
  std::string CpusOf(const char* path) { return FormatIds(CpusAt(path)); }
  int IdOf(const char* container) {
    for (const auto& [id, status] : world.runtime.containers)
      if (status.container == container && status.state == runtime::ContainerState::kRunning) return status.pid;
    return -1;
  }
  std::string Said(std::string_view reason) {
    for (const Event& event : world.events.events())
      if (event.reason == reason) return event.message;
    return "";
  }
  std::optional<ResizeView> ViewOf(TestManager& manager) { return pods::ResizeOf(manager.pods().at(kWebsUid)); }
};

TEST_F(ResizeOfPodsTest, APodThatGrowsGoesOnRunning) {
  auto manager = Boot();
  Want(*manager, Web("1"));
  ASSERT_EQ(CpusOf(kWebsGroup), "1");
  const int pid = IdOf("web");
  world.steps.ClearLog();
  Want(*manager, Web("2"));
  EXPECT_EQ(CpusOf(kWebsGroup), "1-2");
  EXPECT_EQ(CpusOf(kBacksGroup), "0,3");
  EXPECT_EQ(IdOf("web"), pid);
  EXPECT_EQ(world.steps.Find("signal"), -1);
  const int saved = world.steps.Find("save");
  const int others = world.steps.Find("cpus kubepods/besteffort", saved);
  ASSERT_GE(saved, 0);
  EXPECT_LT(saved, others) << "on disk before anything is written";
  EXPECT_LT(others, world.steps.Find("cpus " + std::string(kWebsGroup), saved)) << "the shared pool shrinks first";
  EXPECT_EQ(Said("ResizeStarted"), "web: cpu 2 instead of 1");
  EXPECT_EQ(Said("ResizeCompleted"), "done, web has CPUs 1-2 for itself");
  EXPECT_EQ(ViewOf(*manager), std::nullopt);
}

TEST_F(ResizeOfPodsTest, APodThatShrinksKeepsWhatItWasStartedWith) {
  auto manager = Boot();
  Want(*manager, Web("1"));
  Want(*manager, Web("3"));
  ASSERT_EQ(CpusOf(kWebsGroup), "1-3");
  const int pid = IdOf("web");
  world.steps.ClearLog();
  Want(*manager, Web("1"));
  EXPECT_EQ(CpusOf(kWebsGroup), "1");
  EXPECT_LT(world.steps.Find("cpus " + std::string(kWebsGroup)), world.steps.Find("cpus kubepods/besteffort"))
      << "the container shrinks first";
  EXPECT_EQ(CpusOf(kBacksGroup), "0,2-3");
  EXPECT_EQ(IdOf("web"), pid);
}

TEST_F(ResizeOfPodsTest, WhatDoesNotFitNowIsDecidedAgainWhenSomethingIsGivenBack) {
  auto manager = Boot();
  const Pod other = MakePod("other", "1");
  manager->OnSnapshot(Wanting({other, Web("2")}), Now());
  ASSERT_EQ(CpusOf(kWebsGroup).size(), 3U);
  manager->OnSnapshot(Wanting({other, Web("3")}), Now());
  ASSERT_TRUE(ViewOf(*manager));
  EXPECT_EQ(ViewOf(*manager)->reason, "Deferred");
  EXPECT_FALSE(ViewOf(*manager)->in_progress);
  EXPECT_TRUE(HasEvent("ResizeDeferred"));
  EXPECT_EQ(CpusAt(kWebsGroup).Count(), 2) << "as it was";
  const int pid = IdOf("web");
  manager->OnSnapshot(Wanting({Web("3")}), Now());
  Later(*manager);
  EXPECT_EQ(CpusOf(kWebsGroup), "1-3");
  EXPECT_EQ(ViewOf(*manager), std::nullopt);
  EXPECT_EQ(IdOf("web"), pid);
}

TEST_F(ResizeOfPodsTest, WhatNeverFitsIsSaidOnceAndThePodGoesOn) {
  auto manager = Boot();
  Want(*manager, Web("1"));
  const int pid = IdOf("web");
  Want(*manager, Web("40"));
  Later(*manager);
  ASSERT_TRUE(ViewOf(*manager));
  EXPECT_EQ(ViewOf(*manager)->reason, "Infeasible");
  EXPECT_EQ(std::ranges::count(world.events.events(), "ResizeInfeasible", &Event::reason), 1);
  EXPECT_EQ(IdOf("web"), pid);
  Want(*manager, Web("1"));
  EXPECT_EQ(ViewOf(*manager), std::nullopt) << "taken back";
}

TEST_F(ResizeOfPodsTest, AnotherClassIsRefusedAndAnotherCommandIsAnotherPod) {
  auto manager = Boot();
  Want(*manager, Web("1"));
  const int pid = IdOf("web");
  Pod burstable = Web("1");
  burstable.containers[0].resources.limits["cpu"] = *Quantity::Parse("2");
  Want(*manager, burstable);
  ASSERT_TRUE(ViewOf(*manager));
  EXPECT_EQ(ViewOf(*manager)->message,
            "spec.containers: Pod QOS Class may not change as a result of resizing (it is Guaranteed, and would be "
            "Burstable)");
  EXPECT_EQ(IdOf("web"), pid);
  Pod other = Web("1");
  other.containers[0].command = {"/bin/false"};
  Want(*manager, other);
  Later(*manager);
  EXPECT_NE(IdOf("web"), pid);
}

TEST_F(ResizeOfPodsTest, MemoryIsNotTakenFromUnderARunningProgram) {
  auto manager = Boot();
  Want(*manager, Web("1", "8Mi"));
  world.tree.working_sets[kWebsGroup] = MiB(6);
  Want(*manager, Web("1", "4Mi"));
  ASSERT_TRUE(ViewOf(*manager));
  EXPECT_EQ(ViewOf(*manager)->reason, "Deferred");
  EXPECT_EQ(world.tree.Read(kWebsGroup)->memory_max, MiB(8));
  world.tree.working_sets[kWebsGroup] = MiB(2);
  Later(*manager);
  EXPECT_EQ(world.tree.Read(kWebsGroup)->memory_max, MiB(4));
  EXPECT_EQ(ViewOf(*manager), std::nullopt);
}

TEST_F(ResizeOfPodsTest, AContainerIsRestartedWhereItsPolicySaysSo) {
  auto manager = Boot();
  const auto pod = [](const std::string& cpus) {
    Pod out = Web(cpus);
    out.containers[0].restart_to_resize = {"cpu"};
    return out;
  };
  Want(*manager, pod("1"));
  const int pid = IdOf("web");
  const int back_pid = IdOf("back");
  Want(*manager, pod("2"));
  Later(*manager);
  EXPECT_NE(IdOf("web"), pid);
  EXPECT_NE(IdOf("web"), -1);
  EXPECT_EQ(CpusOf(kWebsGroup), "1-2");
  EXPECT_EQ(IdOf("back"), back_pid);
  EXPECT_EQ(ViewOf(*manager), std::nullopt);
}

TEST_F(ResizeOfPodsTest, ARestartThatAResizeNeedsIsDoneThoughBerthdIsKilledBeforeIt) {
  const auto pod = [](const std::string& cpus) {
    Pod out = Web(cpus);
    out.containers[0].restart_to_resize = {"cpu"};
    return out;
  };
  auto manager = Boot();
  Want(*manager, pod("1"));
  const int pid = IdOf("web");
  const int back_pid = IdOf("back");
  world.steps.ClearLog();
  for (int at = 0; world.steps.Find("save") < 0; ++at) {  // killed right after the ledger was saved
    ASSERT_LT(at, 20);
    world.steps.DieAt(at);
    try {
      Want(*manager, pod("2"));
    } catch (const Died&) {
      manager = Boot();
    }
  }
  world.steps.DieAt(std::nullopt);
  ASSERT_EQ(IdOf("web"), pid);
  ASSERT_EQ(world.store.saved->ledger.pods.at(kWebsUid).restarts.size(), 1U);
  manager = Boot();
  Want(*manager, pod("2"));
  Later(*manager);
  EXPECT_NE(IdOf("web"), pid);
  EXPECT_NE(IdOf("web"), -1);
  EXPECT_EQ(CpusOf(kWebsGroup), "1-2");
  EXPECT_EQ(IdOf("back"), back_pid);
  EXPECT_EQ(ViewOf(*manager), std::nullopt);
  const int after = IdOf("web");
  manager = Boot();
  Want(*manager, pod("2"));
  Later(*manager);
  EXPECT_EQ(IdOf("web"), after) << "once";
}

TEST_F(ResizeOfPodsTest, ARestartOfBerthdFindsAResizedPodAsItIs) {
  auto manager = Boot();
  Want(*manager, Web("1"));
  Want(*manager, Web("2"));
  const int pid = IdOf("web");
  manager = Boot();
  Want(*manager, Web("2"));
  EXPECT_EQ(IdOf("web"), pid);
  EXPECT_EQ(CpusOf(kWebsGroup), "1-2");
  manager = Boot();  // edited while no berthd ran; its uid is another manifest's
  Pod edited = Web("3");
  edited.uid = "123456789abcdef0123456789abcdef0";
  Want(*manager, edited);
  EXPECT_EQ(IdOf("web"), pid);
  EXPECT_EQ(CpusOf(kWebsGroup), "1-3");
}

TEST_F(ResizeOfPodsTest, APodOfALedgerThatKnewNoResizesIsResizedAndKeptAllTheSame) {
  auto manager = Boot();
  Want(*manager, Web("1"));
  const int pid = IdOf("web");
  for (auto& [uid, record] : world.store.saved->ledger.pods) {
    record.allocated.clear();
    record.identity.clear();
  }
  manager = Boot();
  Want(*manager, Web("1"));
  const PodRecord& record = world.store.saved->ledger.pods.at(kWebsUid);
  EXPECT_EQ(record.allocated, AllocatedOf(Web("1")));
  EXPECT_EQ(record.identity, pod_sources::IdentityOf(Web("1")));
  Want(*manager, Web("40"));
  manager = Boot();  // the uid is that of the manifest which waits
  Pod edited = Web("40");
  edited.uid = "fedcba9876543210fedcba9876543210";
  Want(*manager, edited);
  EXPECT_EQ(IdOf("web"), pid);
  EXPECT_EQ(CpusOf(kWebsGroup), "1");
  ASSERT_TRUE(ViewOf(*manager));
  EXPECT_EQ(ViewOf(*manager)->reason, "Infeasible");
}

TEST_F(ResizeOfPodsTest, KilledAtAnyStepItKeepsEveryPromise) {
  for (const auto& [from, to] : {std::pair("1", "3"), std::pair("3", "1")}) {
    for (int at = 0; at < 60; ++at) {
      FakeNode node(MakeNode());
      node.resizing = true;
      auto manager = node.Boot();
      ASSERT_TRUE(manager->Start(std::nullopt, node.clock.Now()));
      manager->OnSnapshot(Wanting({back, Web(from)}), node.clock.Now());
      node.steps.DieAt(at);
      bool died = false;
      try {
        manager->OnSnapshot(Wanting({back, Web(to)}), node.clock.Now());
      } catch (const Died&) {
        died = true;
      }
      manager = node.Boot();
      ASSERT_TRUE(manager->Start(node.store.saved, node.clock.Now()));
      manager->OnSnapshot(Wanting({back, Web(to)}), node.clock.Now());
      const auto values = node.tree.Read(kWebsGroup);
      ASSERT_TRUE(values) << "died at step " << at;
      EXPECT_EQ(FormatIds(*values->cpus), std::string(to) == "1" ? "1" : "1-3") << "died at step " << at;
      if (!died) break;
    }
  }
}

}  // namespace
}  // namespace berth::daemon
