// What the manager does about what others did: cpusets, CPUs, containers and groups.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "daemon/fake_node_test.h"

namespace berth::daemon {
namespace {

constexpr os::Millis kLook{500};
constexpr const char* kBackPod = "kubepods/besteffort/poduid-back";
constexpr const char* kWebPod = "kubepods/poduid-web";

struct PodRepairTest : PodManagerTest {
  std::unique_ptr<TestManager> BootWith(const std::vector<Pod>& pods) {
    auto manager = Boot();
    manager->OnSnapshot(Wanting(pods), Now());
    world.steps.ClearLog();
    return manager;
  }
  const Event* FindEvent(std::string_view reason, std::string_view object = "") {
    for (const Event& event : world.events.events())
      if (event.reason == reason && (object.empty() || event.object == object)) return &event;
    return nullptr;
  }
  std::string Said(std::string_view reason, std::string_view object = "") {
    const Event* event = FindEvent(reason, object);
    return event == nullptr ? "" : event->message;
  }
  /// Lets the time to the next look pass, and looks.
  void Look(TestManager& manager) {
    world.clock.Advance(kLook);
    manager.Tick(Now());
  }
  /// After a look that took long; then a cpuset is edited by hand.
  std::unique_ptr<TestManager> BootWithALongLook() {
    world.steps.set_check(nullptr);
    auto manager = BootWith(both);
    world.clock.Advance(std::chrono::seconds(10));
    world.tree.look_takes = std::chrono::milliseconds(2);
    manager->Tick(Now());
    world.tree.ForeignWrite(kBack, CpuSet::Range(0, 0));
    return manager;
  }
  const std::vector<Pod> both = {MakePod("back", "", QosClass::kBestEffort), MakePod("web", "2")};
};

TEST_F(PodRepairTest, AGroupThatSystemdHasMadeIsOursAlsoWhenItsAnswerWasNotTakenForLong) {
  world.steps.set_check(nullptr);  // what a group that is being made holds
  auto manager = BootWith({both.front()});
  world.tree.answers_late = {kWebPod};
  manager->OnSnapshot(Wanting(both), Now());
  ASSERT_TRUE(world.tree.Read(kWebPod)) << "it was to be made";
  world.tree.waits_for_answer = false;  // the loop was away: an answer that nobody takes for 2 s is dropped
  EXPECT_EQ(std::vector<std::string>(), manager->groups().discovery().FindForeign().value());

  world.tree.answers_late.clear();
  Look(*manager);
  EXPECT_TRUE(world.runtime.Runs("uid-web", "web"));
  EXPECT_EQ(nullptr, FindEvent("UnknownGroup"));
  EXPECT_EQ(nullptr, FindEvent("CgroupRepaired"));
}

TEST_F(PodRepairTest, AGroupIsNoMoreOursWhenItsPodWentWhileItWasMade) {
  world.steps.set_check(nullptr);
  auto manager = BootWith({both.front()});
  world.tree.answers_late = {kWebPod};
  manager->OnSnapshot(Wanting(both), Now());
  manager->OnSnapshot(Wanting({both.front()}), Now());
  Look(*manager);
  ASSERT_FALSE(manager->pods().contains("uid-web"));
  ASSERT_FALSE(world.tree.Read(kWebPod));
  ASSERT_FALSE(world.tree.Create(kWebPod)) << "systemd makes it only now";
  EXPECT_EQ(std::vector<std::string>{kWebPod}, manager->groups().discovery().FindForeign().value());
}

TEST_F(PodRepairTest, AGroupWhoseMakingIsGivenUpIsRepairedAgain) {
  world.steps.set_check(nullptr);
  auto manager = BootWith(both);
  cgroup_manager::PodGroups& groups = manager->groups().pod_groups();
  const Pod& web = manager->pods().at("uid-web").pod;
  world.tree.answers_late = {kWeb};
  ASSERT_FALSE(groups.MakeContainer(web, web.containers.front(), manager->ledger()));
  world.tree.ForeignWrite(kWeb, CpuSet::Range(0, 3));
  Look(*manager);
  EXPECT_EQ(FormatIds(CpusAt(kWeb)), "0-3") << "it is being made";
  groups.GiveUp(web, "web");
  Look(*manager);
  EXPECT_EQ(FormatIds(CpusAt(kWeb)), "1-2");
}

TEST_F(PodRepairTest, ACpusetEditedByHandIsPutBackWithinASecond) {
  world.steps.set_check(nullptr);  // what somebody else wrote breaks the promises until it is put right
  auto manager = BootWith(both);
  const std::uint64_t writes = world.tree.writes();
  world.tree.ForeignWrite(kWeb, CpuSet::Range(0, 3));
  world.tree.ForeignWrite(kBack, CpuSet::Range(0, 0));
  EXPECT_LE(manager->next_due() - Now(), kLook);
  Look(*manager);
  EXPECT_EQ(FormatIds(CpusAt(kWeb)), "1-2");
  EXPECT_EQ(FormatIds(CpusAt(kBack)), "0,3");
  EXPECT_EQ(world.tree.writes(), writes + 4) << "two of them were the foreign ones";
  EXPECT_EQ(Said("CgroupRepaired", "cgroup/" + std::string(kWeb)), "CPUs were 0-3, must be 1-2; put right");
}

TEST_F(PodRepairTest, MemoryNodesEditedByHandArePutBackToo) {
  FakeNode fresh(MakeNode(4, 2));
  auto manager = fresh.Boot();
  ASSERT_TRUE(manager->Start(std::nullopt, fresh.clock.Now()));
  manager->OnSnapshot(Wanting(both), fresh.clock.Now());
  CgroupValues values;
  values.mems = NodeSet::Range(0, 0);
  fresh.tree.ForeignWrite(kBack, values);
  fresh.clock.Advance(kLook);
  manager->Tick(fresh.clock.Now());
  EXPECT_EQ(FormatIds(*fresh.tree.Read(kBack)->mems), "0-1");
  EXPECT_EQ(fresh.events.events().back().message, "memory nodes were 0, must be 0-1; put right");
}

TEST_F(PodRepairTest, AQuotaEditedByHandIsPutBackWithinAMinuteAsAllValuesAre) {
  auto manager = BootWith(both);
  const auto quota = world.tree.Read(kWeb)->cpu_max;
  CgroupValues values;
  values.cpu_max = CpuMax{.quota = std::chrono::microseconds(50'000)};
  world.tree.ForeignWrite(kWeb, values);
  Advance(*manager, std::chrono::seconds(61));
  EXPECT_EQ(world.tree.Read(kWeb)->cpu_max, quota);
  EXPECT_NE(Said("CgroupRepaired", "cgroup/" + std::string(kWeb)).find("was 50000 100000, must be "),
            std::string::npos);
}

TEST_F(PodRepairTest, ValuesOfAllPodsAndOfAClassArePutBackWithAnEvent) {
  auto manager = BootWith(both);
  const CgroupValues all = *world.tree.Read("kubepods");
  const CgroupValues tier = *world.tree.Read("kubepods/burstable");
  CgroupValues values;
  values.shares = 77;
  values.weight = 77;
  values.memory_max = MiB(1);
  world.tree.ForeignWrite("kubepods", values);
  values.memory_max.reset();
  world.tree.ForeignWrite("kubepods/burstable", values);
  Advance(*manager, std::chrono::seconds(61));
  EXPECT_EQ(*world.tree.Read("kubepods"), all);
  EXPECT_EQ(*world.tree.Read("kubepods/burstable"), tier);
  EXPECT_NE(Said("CgroupRepaired", "cgroup/kubepods/burstable"), "");
  EXPECT_NE(Said("CgroupRepaired", "cgroup/kubepods"), "");
  const std::size_t events = world.events.events().size();
  manager->OnSnapshot(Wanting({both[1]}), Now());  // what the ledger changes is nobody's edit
  Advance(*manager, std::chrono::seconds(61));
  for (std::size_t i = events; i < world.events.events().size(); ++i)
    EXPECT_NE(world.events.events()[i].reason, "CgroupRepaired") << world.events.events()[i].message;
}

/// A Burstable pod that runs while berthd is started with other settings.
struct ChangedSettingsTest : PodRepairTest {
  ChangedSettingsTest() {
    world.options.pods.value_settings = run / "group-values";
    pod.containers[0].resources.limits = {{"cpu", *Quantity::Parse("2")}, {"memory", *Quantity::Parse("2Mi")}};
  }
  /// As it is after a minute.
  std::unique_ptr<TestManager> BootAs(const KubeletConfiguration& config,
                                      KubeletVersion version = kDefaultKubeletVersion) {
    auto node = allocator::Node::Make(world.node.machine(), config, {.kubelet_version = version});
    EXPECT_TRUE(node) << node.error().message;
    world.node = *std::move(node);
    auto manager = Boot();
    manager->OnSnapshot(Wanting({pod}), Now());
    Advance(*manager, std::chrono::seconds(61));
    return manager;
  }
  const testkit::TempDir run;
  Pod pod = MakePod("burst", "1", QosClass::kBurstable);
  const std::string group = "kubepods/burstable/poduid-burst";
  const std::string container = group + "/burst";
};

TEST_F(ChangedSettingsTest, WhatOtherSettingsMadeBerthWriteFollowsTheNewOnesAndIsNobodysEdit) {
  const auto boot = [&](bool limits) {
    KubeletConfiguration config = world.node.config();
    config.cpu_cfs_quota = limits;
    config.pod_pids_limit = limits ? 100 : -1;
    config.feature_gates["QOSReserved"] = true;
    config.qos_reserved.clear();
    if (limits) config.qos_reserved["memory"] = "50%";
    return BootAs(config);
  };
  const auto expect_limits = [&] {
    EXPECT_EQ(world.tree.Read(container)->cpu_max, CpuMax{.quota = std::chrono::microseconds(200'000)});
    EXPECT_EQ(world.tree.Read(group)->pids_max, 100);
    EXPECT_GT(world.tree.Read("kubepods/burstable")->memory_max.value_or(Bytes{-1}).v, 0);
  };
  auto manager = boot(true);
  expect_limits();
  manager = boot(false);
  EXPECT_EQ(world.tree.Read(container)->cpu_max, CpuMax{});
  EXPECT_EQ(world.tree.Read(group)->cpu_max, CpuMax{});
  EXPECT_EQ(world.tree.Read(group)->pids_max, -1);
  EXPECT_EQ(world.tree.Read("kubepods/burstable")->memory_max, Bytes{-1});
  EXPECT_EQ(world.tree.Read("kubepods/besteffort")->memory_max, Bytes{-1});
  manager = boot(true);
  expect_limits();
  EXPECT_FALSE(HasEvent("CgroupRepaired")) << Said("CgroupRepaired");
  CgroupValues edit;
  edit.pids_max = 7;
  world.tree.ForeignWrite(group, edit);
  manager = boot(true);  // the settings are the same: it is somebody's edit
  EXPECT_EQ(world.tree.Read(group)->pids_max, 100);
  EXPECT_EQ(Said("CgroupRepaired", "cgroup/" + group), "pids.max was 7, must be 100; put right");
}

TEST_F(ChangedSettingsTest, MemoryQosThatIsTurnedOffLeavesNothingInGroupsThatRun) {
  const auto boot = [&](KubeletVersion version, bool tiered, const std::map<std::string, bool>& gates) {
    KubeletConfiguration config = world.node.config();
    config.feature_gates = gates;
    config.memory_reservation_policy = tiered ? "TieredReservation" : "None";
    config.memory_throttling_factor = 0.9;
    return BootAs(config, version);
  };
  const auto on = [&] {
    const auto manager = boot(KubeletVersion::k1_37, true, {});
    EXPECT_EQ(world.tree.Read("kubepods")->memory_min, MiB(1));
    EXPECT_EQ(world.tree.Read("kubepods")->memory_low, MiB(1));
    for (const std::string& path : {std::string("kubepods/burstable"), group, container})
      EXPECT_EQ(world.tree.Read(path)->memory_low, MiB(1)) << path;
    EXPECT_GT(world.tree.Read(container)->memory_high.value_or(Bytes{-1}).v, 0);
  };
  const auto expect_nothing = [&] {
    EXPECT_EQ(world.tree.Read("kubepods")->memory_min, Bytes{0});
    for (const std::string& path : {std::string("kubepods"), std::string("kubepods/burstable"), group, container})
      EXPECT_EQ(world.tree.Read(path)->memory_low, Bytes{0}) << path;
    EXPECT_EQ(world.tree.Read(container)->memory_high, Bytes{-1});
  };
  on();
  auto manager = boot(KubeletVersion::k1_37, false, {{"MemoryQoS", false}});
  expect_nothing();
  manager.reset();
  on();
  manager = boot(KubeletVersion::k1_36, false, {});
  expect_nothing();
  EXPECT_FALSE(HasEvent("CgroupRepaired")) << Said("CgroupRepaired");
}

TEST_F(PodRepairTest, SettingsThatCannotBeKeptAreToldOnceAndKeptLater) {
  const testkit::TempDir run;
  const std::string folder = run / "folder";
  world.options.pods.value_settings = folder + "/group-values";
  auto manager = BootWith(both);
  CgroupValues own;
  own.memory_max = Bytes{1 << 30};
  world.tree.ForeignWrite("kubepods/burstable", own);
  Advance(*manager, std::chrono::seconds(61));
  EXPECT_EQ(world.events.counts().at("FailedCgroupUpdate"), 1U);
  EXPECT_EQ(world.tree.Read("kubepods/burstable")->memory_max, own.memory_max) << "no earlier setting's";
  std::filesystem::create_directory(folder);
  Advance(*manager, std::chrono::seconds(61));
  EXPECT_TRUE(std::filesystem::exists(world.options.pods.value_settings));
}

TEST_F(PodRepairTest, ValuesThatBerthDoesNotSetStayAsSomebodySetThemWhileTheSettingsAreTheSame) {
  const testkit::TempDir run;
  world.options.pods.value_settings = run / "group-values";
  auto manager = BootWith(both);  // a node without pods follows its settings at once, before the first look
  CgroupValues own;
  own.pids_max = 7;
  world.tree.ForeignWrite(kWebPod, own);
  manager = BootWith(both);
  Advance(*manager, std::chrono::seconds(61));
  EXPECT_EQ(world.tree.Read(kWebPod)->pids_max, 7);
  EXPECT_FALSE(HasEvent("CgroupRepaired"));
}

TEST_F(PodRepairTest, LooksThatTakeLongAreTakenLessOften) {
  auto manager = BootWithALongLook();
  world.clock.Advance(kLook);
  world.tree.online = CpuSet::Range(0, 3);
  manager->Tick(Now());
  EXPECT_EQ(FormatIds(CpusAt(kBack)), "0") << "a two-thousandth of a CPU is used up";
  for (int i = 0; i < 40; ++i) {
    Look(*manager);
  }
  EXPECT_EQ(FormatIds(CpusAt(kBack)), "0,3");
}

TEST_F(PodRepairTest, AShorterReconcilePeriodHoldsAtOnceForLooksThatTakeLong) {
  auto manager = BootWithALongLook();
  manager->bare().Reload(kLook, false);
  Look(*manager);
  EXPECT_EQ(FormatIds(CpusAt(kBack)), "0,3");
}

TEST_F(PodRepairTest, NothingIsWrittenWhileNothingDiffers) {
  auto manager = BootWith(both);
  const std::uint64_t writes = world.tree.writes();
  const std::uint64_t revision = manager->ledger().revision;
  for (int i = 0; i < 200; ++i) {
    Look(*manager);
  }
  EXPECT_EQ(world.tree.writes(), writes);
  EXPECT_TRUE(world.steps.log().empty());
  EXPECT_EQ(manager->ledger().revision, revision);
}

TEST_F(PodRepairTest, AForeignWriterIsNamedAndHisWritePutRightAtOnce) {
  auto manager = BootWith(both);
  world.tree.has_dirs = true;
  world.clock.Advance(std::chrono::milliseconds(100));
  world.tree.ForeignWrite(kWeb, CpuSet::Range(0, 3));
  manager->OnForeignWrite("/cg/" + std::string(kWeb), "kubelet (pid 812, /usr/bin/kubelet)", Now());
  EXPECT_EQ(manager->next_due(), Now());
  manager->Tick(Now());
  EXPECT_EQ(Said("CgroupRepaired"),
            "CPUs were 0-3, must be 1-2; written by kubelet (pid 812, /usr/bin/kubelet); put right");
  world.tree.ForeignWrite(kWeb, CpuSet::Range(0, 2));
  manager->OnForeignWrite("/cg/" + std::string(kWeb), "sh (pid 9)", Now());
  EXPECT_GT(manager->next_due(), Now()) << "who writes all the time does not keep the loop busy";
  EXPECT_LE(manager->next_due() - Now(), std::chrono::milliseconds(20));
  world.clock.Advance(std::chrono::milliseconds(20));
  manager->Tick(Now());
  EXPECT_EQ(FormatIds(CpusAt(kWeb)), "1-2");
  manager->OnForeignWrite("/elsewhere/kubepods", "sh (pid 9)", Now());
  EXPECT_GT(manager->next_due() - Now(), std::chrono::milliseconds(100));
}

// ---- CPUs that come and go ----

TEST_F(PodRepairTest, PoolAndLedgerFollowACpuThatGoesOfflineAndComesBack) {
  auto manager = BootWith(both);
  world.tree.online = CpuSet::Range(0, 2);
  Look(*manager);
  EXPECT_EQ(FormatIds(manager->ledger().shared), "0");
  EXPECT_EQ(world.store.saved->ledger, manager->ledger());
  EXPECT_EQ(FormatIds(CpusAt(kBack)), "0");
  EXPECT_EQ(FormatIds(CpusAt("berth")), "0");
  EXPECT_EQ(FormatIds(CpusAt(kWeb)), "1-2");
  EXPECT_EQ(Said("CpusOffline"), "CPUs 3 went offline");
  manager->OnSnapshot(Wanting({both[0], both[1], MakePod("third", "1")}), Now());
  EXPECT_FALSE(world.runtime.Runs("uid-third", "third")) << "the CPU that is left is not there";
  manager->OnSnapshot(Wanting(both), Now());
  world.tree.online = CpuSet::Range(0, 3);
  Look(*manager);
  EXPECT_EQ(FormatIds(manager->ledger().shared), "0,3");
  EXPECT_EQ(FormatIds(CpusAt(kBack)), "0,3");
  EXPECT_EQ(Said("CpusOnline"), "CPUs 3 came online");
}

TEST_F(PodRepairTest, APinnedContainerKeepsWhatIsLeftAndGetsTheRestBack) {
  world.steps.set_check(nullptr);
  auto manager = BootWith(both);
  world.tree.online = *CpuSet::Parse("0-1,3");
  Look(*manager);
  EXPECT_EQ(FormatIds(CpusAt(kWeb)), "1");
  EXPECT_EQ(FormatIds(CpusAt(kBack)), "0,3");
  EXPECT_EQ(Said("CpusOffline", "pod/default/web"), "container web lost CPUs 2 of 1-2; it keeps 1");
  EXPECT_EQ(FormatIds(ExclusiveCpus(manager->ledger())), "1-2") << "they are still promised to it";
  world.tree.online = CpuSet::Range(0, 3);
  Look(*manager);
  EXPECT_EQ(FormatIds(CpusAt(kWeb)), "1-2");
  EXPECT_EQ(Said("CpusOnline", "pod/default/web"), "container web has CPUs 2 back");
  EXPECT_FALSE(HasEvent("CgroupRepaired"));
}

TEST_F(PodRepairTest, ACpuThatGoesOfflineInTheMidstOfALookIsFollowedAndNotCalledARepair) {
  for (const int looks : {0, 1, 2, 3}) {
    SCOPED_TRACE(looks);
    FakeNode fresh(MakeNode(4));
    fresh.steps.set_check(nullptr);
    fresh.tree.online = CpuSet::Range(0, 3);
    auto manager = fresh.Boot();
    ASSERT_TRUE(manager->Start(std::nullopt, fresh.clock.Now()));
    manager->OnSnapshot(Wanting(both), fresh.clock.Now());
    const auto cpus_of_web = [&] { return FormatIds(*fresh.tree.Read(kWeb)->cpus); };
    const auto look = [&] {
      fresh.clock.Advance(kLook);
      manager->Tick(fresh.clock.Now());
    };
    look();
    fresh.tree.looks_until_next = looks;
    fresh.tree.next_online = *CpuSet::Parse("0-1,3");
    look();
    look();
    look();
    ASSERT_FALSE(fresh.tree.next_online) << "went offline";
    EXPECT_EQ(cpus_of_web(), "1");
    fresh.tree.looks_until_next = looks;
    fresh.tree.next_online = CpuSet::Range(0, 3);
    look();
    look();
    look();
    EXPECT_EQ(cpus_of_web(), "1-2");
    for (const Event& event : fresh.events.events()) EXPECT_NE(event.reason, "CgroupRepaired") << event.message;
  }
}

TEST_F(PodRepairTest, CpusThatWereAwayForAMomentOnlyWhileThePoolWasWrittenAreFollowedToo) {
  world.steps.set_check(nullptr);
  world.tree.online = CpuSet::Range(0, 3);
  auto manager = BootWith(both);
  Look(*manager);
  for (const int looks : {0, 1, 2, 3}) {
    SCOPED_TRACE(looks);
    world.tree.online = *CpuSet::Parse("0-1,3");
    world.tree.looks_until_next = looks;
    world.tree.next_online = CpuSet::Range(0, 3);
    manager->OnSnapshot(Wanting({both[0], both[1], MakePod("more", "", QosClass::kBestEffort)}), Now());
    manager->OnSnapshot(Wanting(both), Now());
    for (int i = 0; i < 4; ++i) {
      Look(*manager);
    }
    EXPECT_EQ(FormatIds(CpusAt(kWeb)), "1-2");
    EXPECT_EQ(FormatIds(CpusAt(kBack)), "0,3");
  }
  EXPECT_FALSE(HasEvent("CgroupRepaired"));
}

TEST_F(PodRepairTest, AContainerWithoutAnyCpuLeftRunsInTheSharedPoolAndOnNobodysCpus) {
  world.steps.set_check(nullptr);
  auto manager = BootWith({both[0], both[1], MakePod("xy", "1")});
  ASSERT_EQ(FormatIds(CpusAt("kubepods/poduid-xy/xy")), "3");
  world.tree.online = CpuSet::Range(0, 2);
  world.tree.ForeignWrite("kubepods/poduid-xy/xy", CpuSet::Range(0, 2));  // v2: the parent's take effect
  Look(*manager);
  EXPECT_EQ(FormatIds(CpusAt("kubepods/poduid-xy/xy")), "0");
  EXPECT_EQ(Said("CpusOffline", "pod/default/xy"),
            "container xy lost CPUs 3 of 3; it runs in the shared pool until they are back");
  world.tree.online = CpuSet::Range(0, 3);
  Look(*manager);
  EXPECT_EQ(FormatIds(CpusAt("kubepods/poduid-xy/xy")), "3");
}

TEST_F(PodRepairTest, APodWithCpusOfItsOwnIsKeptToTheseAndTheSharedPoolForWhenTheKernelLetsItsContainersOntoAllItHas) {
  auto manager = BootWith({both[0], both[1], MakePod("xy", "1")});
  EXPECT_EQ(FormatIds(CpusAt(kWebPod)), "0-2");
  EXPECT_EQ(FormatIds(CpusAt("kubepods/poduid-xy")), "0,3");
  EXPECT_EQ(world.steps.Find("cpus " + std::string(kBackPod) + " "), -1) << "its class holds the shared pool";
  manager->OnSnapshot(Wanting({both[0], both[1]}), Now());
  manager->OnRuntime(Now());
  EXPECT_EQ(FormatIds(CpusAt(kWebPod)), "0-3") << "grows with the shared pool";
}

TEST_F(PodRepairTest, CpusGivenBackWhileOfflineEnterThePoolWhenTheyAreThere) {
  world.steps.set_check(nullptr);
  auto manager = BootWith(both);
  world.tree.online = *CpuSet::Parse("0-1,3");
  Look(*manager);
  manager->OnSnapshot(Wanting({both[0]}), Now());
  manager->OnRuntime(Now());
  ASSERT_FALSE(manager->ledger().pods.contains("uid-web"));
  EXPECT_EQ(FormatIds(manager->ledger().shared), "0-1,3");
  world.tree.online = CpuSet::Range(0, 3);
  Look(*manager);
  EXPECT_EQ(FormatIds(manager->ledger().shared), "0-3");
}

TEST_F(PodRepairTest, ThePoolNeverBecomesEmpty) {
  world.steps.set_check(nullptr);
  auto manager = BootWith({both[0], MakePod("web", "3")});
  world.tree.online = CpuSet::Range(1, 3);
  Look(*manager);
  EXPECT_EQ(FormatIds(manager->ledger().shared), "0");
  EXPECT_EQ(FormatIds(CpusAt(kWeb)), "1-3");
}

TEST_F(PodRepairTest, ALedgerThatCannotBeSavedFollowsLater) {
  auto manager = BootWith(both);
  world.store.full = true;
  world.tree.online = CpuSet::Range(0, 2);
  Advance(*manager, kLook);
  EXPECT_EQ(FormatIds(manager->ledger().shared), "0,3");
  EXPECT_EQ(FormatIds(CpusAt(kBack)), "0") << "the kernel takes no CPU that is offline";
  world.store.full = false;
  Advance(*manager, std::chrono::seconds(2));
  EXPECT_EQ(FormatIds(manager->ledger().shared), "0");
}

TEST_F(PodRepairTest, CpusThatDidNotExistAtTheStartAreUsed) {
  world.options.reconciler.machine.look = [](const Machine&) {
    return Result<reconciler::LookedAt>({MakeNode(6), "m6", {}});
  };
  world.tree.online = CpuSet::Range(0, 3);
  auto manager = BootWith(both);
  world.tree.online = CpuSet::Range(0, 5);
  world.tree.ForeignWrite("", CpuSet::Range(0, 5));  // as the kernel's root does
  Advance(*manager, kLook);
  EXPECT_EQ(FormatIds(manager->ledger().shared), "0,3-5");
  EXPECT_EQ(FormatIds(CpusAt(kBack)), "0,3-5");
  manager->OnSnapshot(Wanting({both[0], both[1], MakePod("third", "3")}), Now());
  EXPECT_TRUE(world.runtime.Runs("uid-third", "third"));
}

// ---- containers and groups ----

TEST_F(PodRepairTest, AContainerTheRuntimeLostIsReleased) {
  Pod once = both[1];
  once.restart_policy = RestartPolicy::kNever;
  auto manager = BootWith({both[0], once});
  world.runtime.containers.clear();
  Advance(*manager, std::chrono::seconds(11));
  manager->Tick(Now());
  EXPECT_TRUE(HasEvent("ContainerLost"));
  EXPECT_FALSE(manager->ledger().pods.contains("uid-web"));
  EXPECT_EQ(FormatIds(manager->ledger().shared), "0-3");
  EXPECT_TRUE(world.runtime.Runs("uid-back", "back")) << "its restart policy says so";
}

TEST_F(PodRepairTest, AContainerThatRunsWithoutARecordIsToldOfAndItsStartCounted) {
  world.steps.set_check(nullptr);
  auto manager = BootWith(both);
  manager.reset();
  world.runtime.containers.erase("uid-web_web_0");  // somebody emptied the run directory
  world.tree.stuck.insert(std::string(kWeb));
  manager = Boot();
  EXPECT_NE(Said("ContainerLost", "pod/default/web").find("its record in the run directory is gone"),
            std::string::npos);
  EXPECT_EQ(Said("ContainerLost", "pod/default/back"), "");
  world.tree.stuck.clear();  // they can be ended
  manager->OnSnapshot(Wanting(both), Now());
  for (int i = 0; i < 3; ++i) Advance(*manager, std::chrono::seconds(11));
  EXPECT_TRUE(world.runtime.Runs("uid-web", "web"));
  ASSERT_TRUE(world.runtime.last_request);
  EXPECT_EQ(world.runtime.last_request->container.name, "web");
  EXPECT_EQ(world.runtime.last_request->attempt, 1);
  EXPECT_EQ(world.runtime.containers.count("uid-back_back_0"), 1U) << "what has a record goes on";
}

TEST_F(PodRepairTest, AnEndThatWasNotReportedIsSeen) {
  auto manager = BootWith(both);
  world.runtime.Exit("uid-web_web_0", 3);
  world.runtime.changed.clear();
  Advance(*manager, std::chrono::seconds(11));
  manager->Tick(Now());
  EXPECT_NE(Said("ContainerLost", "pod/default/web"), "");
  EXPECT_TRUE(world.runtime.Runs("uid-web", "web"));
}

TEST_F(PodRepairTest, LooksForStraysThatFailAreToldOnce) {
  world.tree.has_dirs = true;
  world.runtime.next_pid = 5'000'000;  // more than a kernel gives: the look is over the real /proc
  auto manager = BootWith(both);
  const auto told_after = [&](const std::string& shown) {
    world.tree.ShowOnly(shown);
    for (int i = 0; i < 2; ++i) {
      Advance(*manager, std::chrono::seconds(11));
      manager->Tick(Now());
    }
    std::uint64_t told = 0;
    for (const Event& event : world.events.events())
      if (event.reason == "StrayLookFailed") told += event.count;
    return told;
  };
  EXPECT_EQ(told_after("/.."), 1U) << "/proc does not say where in it a process is";
  EXPECT_NE(Said("StrayLookFailed", "node/n1").find("outside of this process's cgroup namespace"), std::string::npos);
  EXPECT_EQ(told_after("/"), 1U);
  EXPECT_EQ(told_after("/.."), 2U) << "it had worked meanwhile";
}

TEST_F(PodRepairTest, GroupsOfOthersAreReportedOnceOrTakenOver) {
  for (const bool adopt : {false, true}) {
    FakeNode fresh(MakeNode());
    fresh.options.reconciler.adopt_unknown = adopt;
    auto manager = fresh.Boot();
    ASSERT_TRUE(manager->Start(std::nullopt, fresh.clock.Now()));
    manager->OnSnapshot(Wanting(both), fresh.clock.Now());
    const std::string group = "kubepods/burstable/podstranger/c1";
    ASSERT_TRUE(fresh.tree.Create(group));
    fresh.tree.ForeignWrite(group, CpuSet::Range(0, 3));
    fresh.tree.stuck.insert(group);
    for (int i = 0; i < 3; ++i) {
      fresh.clock.Advance(std::chrono::seconds(11));
      manager->Tick(fresh.clock.Now());
      manager->Tick(fresh.clock.Now());
    }
    EXPECT_EQ(FormatIds(*fresh.tree.Read(group)->cpus), "0,3") << "as its class, whatever its own set says";
    const auto reported =
        std::ranges::count_if(fresh.events.events(), [](const Event& e) { return e.reason == "UnknownGroup"; });
    EXPECT_EQ(reported, 1);
    EXPECT_TRUE(fresh.tree.Read(group)) << "never removed";
    if (!adopt) continue;
    manager->OnSnapshot(Wanting({both[0]}), fresh.clock.Now());
    manager->OnRuntime(fresh.clock.Now());
    EXPECT_EQ(FormatIds(*fresh.tree.Read(group)->cpus), "0-3") << "it grows with the pool";
    fresh.tree.stuck.clear();
    ASSERT_TRUE(fresh.tree.Remove("kubepods/burstable/podstranger"));
    fresh.clock.Advance(std::chrono::seconds(11));
    manager->Tick(fresh.clock.Now());
    EXPECT_FALSE(HasEvent("FailedCgroupUpdate"));
  }
}

}  // namespace
}  // namespace berth::daemon
