// berthd beside a kubelet, as a plug-in of a real containerd with NRI (the one that BERTH_CONTAINERD names). The test
// does over CRI what a kubelet would.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <thread>

#include "base/text.h"
#include "containerd_fixture.h"
#include "daemon_fixture.h"
#include "daemon_nri_fixture.h"
#include "frontend/nri_agent/passive_handler.h"
#include "host/os/clock.h"
#include "kubernetes/pod_resources/made_node_test.h"
#include "kubernetes/pod_resources/pod_resources_service.h"
#include "rpc/nri/plugin.h"
#include "run_program.h"
#include "runtime/cri/cri_client.h"
#include "testing/seen_groups.h"

namespace berth {
namespace {

using testkit::ContainerdFixture;

const char* const kSpinQuietly = "trap 'exit 0' TERM; while :; do :; done";

/// Starts of the tests of many; BERTH_CRI_ROUNDS makes them long.
int RoundsOf(int usual) {
  const char* const text = std::getenv("BERTH_CRI_ROUNDS");
  return text != nullptr ? ParseDecimal<int>(text).value_or(usual) : usual;
}

TEST_F(DaemonNriTest, AGuaranteedContainerIsAloneFromItsFirstInstructionUntilItsPodHasGone) {
  StartAndJoin();
  const PodOnNode shared = RunWhole("shared", "burstable", 0);
  const PodOnNode best = RunWhole("best", "besteffort", 0);
  EXPECT_EQ("0-1", CpusOf(shared.container));
  const PodOnNode own = RunPod("own", "");
  const auto id = Create(own, "app", 1000, "grep Cpus_allowed_list /proc/self/status; " + std::string(kWait));
  ASSERT_TRUE(id) << id.error().message;
  EXPECT_EQ("0", CpusOf(shared.container));  // before it can run
  EXPECT_EQ("0", CpusOf(best.container));
  ASSERT_TRUE(client->Start(*id));
  EXPECT_EQ("1", CpusOf(*id));
  EXPECT_TRUE(berthd->Until("it runs, and has said where", [&] {
    return berthd->Runs("own") && LogOf(own).find("Cpus_allowed_list:\t1") != std::string::npos;
  })) << LogOf(own);
  EXPECT_EQ(1, berthd->CountEvents("Placed", "container app has CPUs 1 for itself"));
  EXPECT_EQ("", berthd->Repairs()) << berthd->output();
  ASSERT_TRUE(client->Stop(*id, std::chrono::seconds(10)));
  EXPECT_EQ("0", CpusOf(shared.container));  // it may be started again
  End(own);
  EXPECT_TRUE(Becomes(shared.container, "0-1"));
  EXPECT_TRUE(berthd->Until("the pod is gone", [&] { return Gone("own"); }));
  EXPECT_EQ(1, berthd->CountEvents("Released"));
  EXPECT_EQ("", berthd->Repairs()) << berthd->output();
}

TEST_F(DaemonNriTest, WhoCannotHaveCpusOfHisOwnIsNotMadeAndThePodsEventsSayWhy) {
  StartAndJoin();
  const PodOnNode first = RunWhole("first", "", 1000);
  const PodOnNode second = RunPod("second", "");
  const auto refused = Create(second, "app", 1000, kWait);
  ASSERT_FALSE(refused);
  EXPECT_NE(std::string::npos, refused.error().message.find("not enough cpus available")) << refused.error().message;
  EXPECT_TRUE(ToldOnce("UnexpectedAdmissionError", "it is not made"));
  const auto shared = Create(second, "part", 500, kWait);
  ASSERT_TRUE(shared) << shared.error().message;
  ASSERT_TRUE(client->Start(*shared));
  EXPECT_EQ("0", CpusOf(*shared));
  EXPECT_EQ(0, berthd->Stop());
  StartAndJoin();
  const PodOnNode third = RunPod("third", "");
  ASSERT_FALSE(Create(third, "app", 1000, kWait));
  const auto known = [&] {
    return berthd->Until("it is known why the third was refused", [&] {
      const codec::Json pod = berthd->PodNamed("third");
      return pod.is_object() && pod.value("reason", "") == "UnexpectedAdmissionError";
    });
  };
  EXPECT_TRUE(known());
  EXPECT_EQ(0, berthd->Stop());
  StartAndJoin();
  EXPECT_TRUE(known()) << berthd->output();
  End(third);
  End(first);
  EXPECT_TRUE(berthd->Until("the first is gone", [&] { return Gone("first"); }));
  const auto now = Create(second, "app", 1000, kWait, 1);
  ASSERT_TRUE(now) << now.error().message;
  ASSERT_TRUE(client->Start(*now));
  EXPECT_EQ("1", CpusOf(*now));
}

TEST_F(DaemonNriTest, WhoCannotHaveCpusOfHisOwnRunsInTheSharedPoolWhereTheSettingsSaySo) {
  StartAndJoin("nriUnplaced: share\n");
  const PodOnNode first = RunWhole("first", "", 1000);
  const PodOnNode second = RunWhole("second", "", 1000);
  EXPECT_EQ("1", CpusOf(first.container));
  EXPECT_EQ("0", CpusOf(second.container));
  EXPECT_TRUE(ToldOnce("UnexpectedAdmissionError", "it runs in the shared pool"));
  EXPECT_EQ("UnexpectedAdmissionError", berthd->PodNamed("second").value("reason", ""));
}

TEST_F(DaemonNriTest, AMixedContainerHasItsCpuAndThePoolAndARuleThatRefusesIsNamed) {
  StartAndJoin("podPolicies: [{name: some, namespaces: [default], cpus: [mixed], maxCpus: 1}]\n");
  const PodOnNode shared = RunWhole("shared", "burstable", 0);
  PodOnNode mix = RunPod("mix", "burstable", false, {{"berth.dev/cpus", "1 exclusive + shared"}});
  mix.container = Run(mix, "app", 1000);
  EXPECT_EQ("0-1", CpusOf(mix.container));
  EXPECT_EQ("0", CpusOf(shared.container));
  EXPECT_TRUE(ToldOnce("Placed", "container app has CPUs 1 for itself"));
  const PodOnNode more = RunPod("more", "burstable", false, {{"berth.dev/cpus", "1 exclusive"}});
  const auto refused = Create(more, "app", 1000, kWait);
  ASSERT_FALSE(refused);
  EXPECT_NE(std::string::npos, refused.error().message.find("rule \"some\" of podPolicies")) << refused.error().message;
  End(mix);
  EXPECT_TRUE(Becomes(shared.container, "0-1"));
}

TEST_F(DaemonNriTest, AnInitContainerLeavesItsCpusToTheNextAndARestartedContainerKeepsItsOwn) {
  StartAndJoin();
  const PodOnNode pod = RunPod("pod", "");
  const std::string setup = Run(pod, "setup", 1000, "exit 0");
  ASSERT_TRUE(berthd->Until("it has ended", [&] {
    const auto status = client->Status(setup);
    return status && status->state == cri::ContainerEntry::State::kExited;
  }));
  const std::string app = Run(pod, "app", 1000);
  EXPECT_EQ("1", CpusOf(app));
  ASSERT_TRUE(client->Stop(app, std::chrono::seconds(10)));
  ASSERT_TRUE(client->Remove(app));
  const auto again = Create(pod, "app", 1000, kWait, 1);
  ASSERT_TRUE(again) << again.error().message;
  ASSERT_TRUE(client->Start(*again));
  EXPECT_EQ("1", CpusOf(*again));
  End(pod);
  EXPECT_TRUE(berthd->Until("the pod is gone", [&] { return Gone("pod"); }));
  const PodOnNode next = RunWhole("next", "", 1000);
  EXPECT_EQ("1", CpusOf(next.container));
}

/// BERTH_CRI_ROUNDS: how many; their answers' times are in berth_nri_answer_duration_seconds of /metrics.
TEST_F(DaemonNriTest, ManyContainersHaveMovedBeforeANewOneIsMade) {
  StartAndJoin();
  std::vector<std::string> shared;
  const PodOnNode pod = RunPod("shared", "burstable");
  for (int i = 0; i < RoundsOf(10); ++i) shared.push_back(Run(pod, "c" + std::to_string(i), 0, "sleep 600"));
  for (int i = 0; i < 10; ++i) {
    const PodOnNode own = RunPod("own" + std::to_string(i), "");
    ASSERT_TRUE(Create(own, "app", 1000, kWait));
    for (const std::string& id : shared) ASSERT_EQ("0", CpusOf(id));
    End(own);
    ASSERT_TRUE(berthd->Until("it has gone", [&] { return Gone(own.uid); }));
    ASSERT_TRUE(Becomes(shared.back(), "0-1"));
  }
}

TEST_F(DaemonNriTest, WhatAKubeletWantsOfCpusetsIsOverruledAndSaid) {
  StartAndJoin();
  const PodOnNode own = RunWhole("own", "", 1000);
  ASSERT_TRUE(client->Update(own.container, {.cpus = "0"}));
  EXPECT_EQ("1", CpusOf(own.container));
  EXPECT_TRUE(ToldOnce("CpusetContested", "wants container app on CPUs 0, it keeps 1"));
  ASSERT_TRUE(client->Update(own.container, {.memory_limit = 48 << 20}));
  EXPECT_EQ("1", CpusOf(own.container));
}

TEST_F(DaemonNriTest, BesideAKubeletThatPlacesContainersItStepsAsideUntilThatIsOver) {
  const std::string folder = berthd->Dir("theirs");
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string& policy) {
    std::ofstream(folder + "/cpu_manager_state")
        << R"({"policyName":")" + policy + R"(","defaultCpuSet":"0-1","entries":{},"checksum":0})";
  };
  write("static");
  StartAndJoin("nriContested: stepAside\nkubeletDir: " + folder + "\n");
  const PodOnNode own = RunWhole("own", "", 1000);
  EXPECT_NE("1", CpusOf(own.container));  // "0-1", or with cgroup v2 nothing of its own
  ASSERT_TRUE(client->Update(own.container, {.cpus = "0"}));
  EXPECT_EQ("0", CpusOf(own.container)) << "that is the kubelet's to say";
  EXPECT_TRUE(ToldOnce("KubeletPlaces", folder + "/cpu_manager_state says so"));
  EXPECT_NE(std::string::npos, berthd->Get("/v1/status").dump().find("Berth leaves all containers alone"));
  write("none");
  EXPECT_TRUE(Becomes(own.container, "1"));
  EXPECT_TRUE(Joined(2));
  EXPECT_EQ(std::string::npos, berthd->Get("/v1/status").dump().find("Berth leaves all containers alone"));
}

TEST_F(DaemonNriTest, DevicesThatTheKubeletHasGivenAreKnownFromItsPodResources) {
  pod_resources::MadeNode made;
  DeviceAssignment gpu{.resource = "vendor.example/gpu", .ids = {"g0"}, .answer = DeviceAnswer()};
  gpu.answer->nodes["g0"].Insert(NumaId{0});
  made.Add("own-n1", {{.devices = {gpu}}});
  const std::string folder = berthd->Dir("kubelet");
  auto kubelet = pod_resources::Service::Start(
      {.socket = folder + "/pod-resources/kubelet.sock"},
      [snapshot = std::make_shared<const NodeSnapshot>(made.Snapshot())] { return snapshot; });
  ASSERT_TRUE(kubelet) << kubelet.error().message;
  StartAndJoin("kubeletDir: " + folder + "\n");
  const PodOnNode own = RunWhole("own", "", 1000);
  EXPECT_EQ("1", CpusOf(own.container));
  EXPECT_TRUE(berthd->Until("its device is known", [&] {
    const codec::Json pod = berthd->PodNamed("own");
    return pod.value("requestsFrom", "") == "runtime" && pod["containers"][0].value("devicesReported", false) &&
           pod["containers"][0]["devices"]["vendor.example/gpu"][0] == "g0";
  })) << berthd->PodNamed("own").dump();
  const Ran described = Berth({"describe", "own"}, {.environment = {"BERTH_SOCKET=" + berthd->socket()}, .input = ""});
  for (const char* const words : {"(inferred from the values that the runtime shows)\n",
                                  "Devices:     vendor.example/gpu g0 (from the kubelet's pod resources)\n",
                                  "given by the kubelet, as its pod resources say: g0 (NUMA node 0)"})
    EXPECT_NE(std::string::npos, described.out.find(words)) << described.out << described.err;
  EXPECT_EQ(0, berthd->CountEvents("DevicesUnknown"));
  kubelet->reset();
  EXPECT_EQ("0", CpusOf(RunWhole("other", "burstable", 0).container));
  EXPECT_TRUE(berthd->Until("it is told that there is no answer",
                            [&] { return berthd->CountEvents("DevicesUnknown", "without regard to them") == 1; }));
}

/// Another plug-in, which puts every new container on CPU 0.
class Rival final : public nri_agent::PassiveHandler {
 public:
  void CreateContainer(nri::Pod, nri::Container, nri::Answer<nri::Creation> answer) override {
    nri::Creation creation;
    creation.adjustment.resources.cpus = "0";
    answer.Give(std::move(creation));
  }
};

TEST_F(DaemonNriTest, AnotherPlugInThatSetsCpusIsToldOf) {
  StartAndJoin();
  Rival rival;
  const auto other = nri::Plugin::Start({.name = "rival", .index = "60", .socket = containerd->nri_socket()}, rival);
  ASSERT_TRUE(other) << other.error().message;
  ASSERT_TRUE(containerd->Until("it has joined", [&] { return (*other)->status().joined; }));
  const PodOnNode own = RunPod("own", "");
  const auto refused = Create(own, "app", 1000, kWait);
  ASSERT_FALSE(refused);
  EXPECT_NE(std::string::npos, refused.error().message.find("rival")) << refused.error().message;
  EXPECT_TRUE(berthd->Until("it is told", [&] {
    return berthd->CountEvents("ContainerNotMade", "container app") == 1;
  })) << berthd->output();
  EXPECT_NE(std::string::npos, berthd->Get("/v1/status").dump().find("drops containers that have been told"));
}

/// Its record of a container is as old as its last word about it.
TEST_F(DaemonNriTest, ARuntimeThatWritesAllItHasOnRecordUndoesNothing) {
  StartAndJoin();
  const PodOnNode shared = RunWhole("shared", "burstable", 0);
  const PodOnNode own = RunWhole("own", "", 1000);
  EXPECT_EQ("0", CpusOf(shared.container));
  ASSERT_TRUE(client->Update(shared.container, {.cpu_shares = 512}));
  EXPECT_EQ("0", CpusOf(shared.container));
}

TEST_F(DaemonNriTest, ContainersMadeWhileBerthdIsAwayAreInTheirPlaceWithinASecondOfItsReturn) {
  StartAndJoin();
  const PodOnNode before = RunWhole("before", "burstable", 0);
  const PodOnNode gone = RunWhole("gone", "", 1000);
  berthd->Kill();
  End(gone);
  const PodOnNode own = RunWhole("own", "", 1000);
  std::vector<PodOnNode> after;  // BERTH_CRI_ROUNDS: how many
  for (int i = 0; i < RoundsOf(4); ++i)
    after.push_back(RunWhole("after" + std::to_string(i), i % 2 == 0 ? "besteffort" : "burstable", 0));
  Start();
  const os::MonoTime answers = os::SystemClock().Now();
  EXPECT_TRUE(Becomes(own.container, "1"));
  EXPECT_TRUE(Becomes(before.container, "0"));
  for (const PodOnNode& pod : after) EXPECT_TRUE(Becomes(pod.container, "0"));
  const auto took = std::chrono::duration_cast<os::Millis>(os::SystemClock().Now() - answers);
  std::cout << "in their place " << took.count() << " ms after berthd answered\n";
  EXPECT_TRUE(berthd->Until("it is said", [&] {
    return berthd->CountEvents("PlacedLate") == static_cast<int>(after.size()) + 1;
  })) << berthd->output();
  EXPECT_TRUE(berthd->Until("the pod that left is forgotten", [&] { return Gone("gone"); }));
  EXPECT_TRUE(berthd->Runs("own"));
}

TEST_F(DaemonNriTest, OneThatWasCutOffPutsRightWhatItMissed) {
  StartAndJoin();
  const PodOnNode before = RunWhole("before", "burstable", 0);
  ::kill(berthd->pid(), SIGSTOP);
  const PodOnNode own = RunWhole("own", "", 1000);  // the runtime has waited, and has gone on without berthd
  ::kill(berthd->pid(), SIGCONT);
  EXPECT_TRUE(Becomes(own.container, "1"));
  EXPECT_TRUE(Becomes(before.container, "0"));
  EXPECT_TRUE(Joined(2));
  EXPECT_TRUE(ToldOnce("PlacedLate", "CPUs 1 for itself"));
}

TEST_F(DaemonNriTest, ARestartOfBerthdChangesNothing) {
  StartAndJoin();
  const PodOnNode shared = RunWhole("shared", "burstable", 0);
  const PodOnNode own = RunWhole("own", "", 1000);
  const auto ledger = berthd->Get("/v1/ledger").value("pods", codec::Json());
  EXPECT_EQ(0, berthd->Stop());
  EXPECT_EQ("0", CpusOf(shared.container));
  EXPECT_EQ("1", CpusOf(own.container));
  StartAndJoin();
  EXPECT_TRUE(berthd->Until("all run", [&] { return berthd->Runs("shared") && berthd->Runs("own"); }));
  EXPECT_EQ(ledger, berthd->Get("/v1/ledger").value("pods", codec::Json()));
  EXPECT_EQ(0, berthd->CountEvents("PlacedLate")) << berthd->output();
  EXPECT_EQ("", berthd->Repairs()) << berthd->output();
  EXPECT_EQ("1", CpusOf(own.container));
}

TEST_F(DaemonNriTest, ARuntimeThatWasKilledFindsItsContainersWhereTheyWere) {
  StartAndJoin();
  const PodOnNode shared = RunWhole("shared", "burstable", 0);
  const PodOnNode own = RunWhole("own", "", 1000);
  containerd->Kill();
  EXPECT_TRUE(berthd->Until("berthd knows", [&] { return berthd->CountEvents("RuntimeLeft") == 1; }));
  containerd->Start(ContainerdFixture::With::kCriAndNri);
  ASSERT_TRUE(Joined(2));
  const PodOnNode other = RunPod("other", "");
  EXPECT_FALSE(Create(other, "app", 1000, kWait));
  EXPECT_EQ("1", CpusOf(own.container));
  EXPECT_EQ("0", CpusOf(shared.container));
}

/// Without NRI it asks nobody: what keeps its containers off is the kernel's word of their groups.
TEST_F(DaemonNriTest, WhatARuntimeMakesWithoutAskingIsKeptOffExclusiveCpusAtOnce) {
  StartAndJoin();
  const PodOnNode own = RunWhole("own", "", 1000);
  ASSERT_EQ("1", CpusOf(own.container));
  containerd->Kill();
  EXPECT_TRUE(berthd->Until("berthd knows", [&] { return berthd->CountEvents("RuntimeLeft") == 1; }));
  containerd->Start(ContainerdFixture::With::kCri);
  ASSERT_TRUE(containerd->Until("it answers", [&] { return client->Sandboxes({}).has_value(); }));
  const PodOnNode late = RunWhole("late", "burstable", 0);
  const PodOnNode more = RunWhole("more", "", 1000);
  for (const std::string& id : {late.sandbox, late.container, more.sandbox, more.container})
    EXPECT_TRUE(Becomes(id, "0"));
  EXPECT_EQ("1", CpusOf(own.container));
  containerd->Kill();
  containerd->Start(ContainerdFixture::With::kCriAndNri);
  ASSERT_TRUE(Joined(2));
  EXPECT_TRUE(berthd->Until("it is said", [&] { return berthd->CountEvents("PlacedLate") == 1; }));
  EXPECT_EQ("", berthd->Repairs()) << berthd->output();
}

TEST_F(DaemonNriTest, CpusOfAPodThatIsOlderThanTheRuntimeComeBackWhenItHasGone) {
  StartAndJoin();
  const PodOnNode shared = RunWhole("shared", "burstable", 0);
  const PodOnNode own = RunWhole("own", "", 1000);
  containerd->Kill();
  EXPECT_TRUE(berthd->Until("berthd knows", [&] { return berthd->CountEvents("RuntimeLeft") == 1; }));
  containerd->Start(ContainerdFixture::With::kCriAndNri);
  ASSERT_TRUE(Joined(2));
  End(own);
  const os::MonoTime ended = os::SystemClock().Now();
  EXPECT_TRUE(Becomes(shared.container, "0-1"));
  const auto took = std::chrono::duration_cast<os::Millis>(os::SystemClock().Now() - ended);
  std::cout << "back " << took.count() << " ms after its end\n";
  EXPECT_EQ(0, berthd->CountEvents("PlacedLate")) << berthd->output();
}

TEST_F(DaemonNriTest, AResizeOfAContainerWithCpusOfItsOwnIsRefusedInWords) {
  StartAndJoin();
  const PodOnNode own = RunWhole("own", "", 1000);
  const auto resized = client->Update(own.container, {.cpu_period_us = kCfsPeriod, .cpu_quota_us = 2 * kCfsPeriod});
  ASSERT_FALSE(resized);
  EXPECT_NE(std::string::npos, resized.error().message.find("has CPUs 1 for itself")) << resized.error().message;
  EXPECT_TRUE(ToldOnce("ResizeRefused", "container app"));
}

TEST_F(DaemonNriTest, ANodeThatIsGivenBackHasNothingOfBerthLeft) {
  StartAndJoin();
  const PodOnNode shared = RunWhole("shared", "burstable", 0);
  const PodOnNode own = RunWhole("own", "", 1000);
  const std::vector<std::string> arguments = {"--config", berthd->Dir("berth.yaml"), "--cgroup-root",
                                              containerd->cgroup_root(), "--give-back"};
  const auto refused = berthd->RunToEnd(arguments);
  EXPECT_EQ(3, refused.status) << refused.output;  // berthd runs
  EXPECT_EQ("1", CpusOf(own.container));
  EXPECT_EQ(0, berthd->Stop());
  const auto done = berthd->RunToEnd(arguments);
  EXPECT_EQ(0, done.status) << done.output;
  EXPECT_NE(std::string::npos, done.output.find("2 containers may use all CPUs again")) << done.output;
  for (const std::string& id : {shared.container, own.container, shared.sandbox, own.sandbox})
    EXPECT_EQ("0-1", CpusOf(id));
  EXPECT_FALSE(std::filesystem::exists(berthd->state_dir));
  EXPECT_FALSE(std::filesystem::exists(berthd->Dir("run")));
  // A runtime that writes what it has on record changes nothing.
  ASSERT_TRUE(client->Update(own.container, {.cpu_shares = 512}));
  EXPECT_EQ("0-1", CpusOf(own.container));
}

TEST_F(DaemonNriTest, ANodeIsGivenBackWhileContainersStartAndEnd) {
  StartAndJoin();
  const PodOnNode own = RunWhole("own", "", 1000);
  EXPECT_EQ(0, berthd->Stop());
  const PodOnNode pod = RunPod("busy", "burstable");
  std::atomic<bool> over = false;
  std::thread busy([&] {
    for (int i = 0; !over; ++i) {
      const std::string id = Run(pod, "app" + std::to_string(i), 0);
      EXPECT_TRUE(client->Stop(id, std::chrono::seconds(0)));
      EXPECT_TRUE(client->Remove(id));
    }
  });
  for (int i = 0; i < RoundsOf(5); ++i) {
    const auto done = berthd->RunToEnd(
        {"--config", berthd->Dir("berth.yaml"), "--cgroup-root", containerd->cgroup_root(), "--give-back"});
    EXPECT_EQ(0, done.status) << done.output;
  }
  over = true;
  busy.join();
  EXPECT_EQ("0-1", CpusOf(own.container));
}

/// As in the shipped container: with three capabilities, in a container's groups and a cgroup namespace that begins
/// there.
TEST_F(DaemonNriTest, InAContainerThatIsNotPrivilegedItDoesTheSame) {
  const PodOnNode home = RunWhole("home", "besteffort", 0);
  std::vector<std::string> joins;
  for (const std::string& dir : containerd->Groups())
    if (dir.ends_with(home.container) || dir.ends_with(home.container + ".scope"))
      joins.push_back(dir + "/cgroup.procs");
  ASSERT_FALSE(joins.empty());
  CloseRoot();
  const auto confine = [&joins] {
    for (const std::string& file : joins) {
      const int fd = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
      if (::write(fd, "0", 1) != 1) ::_exit(120);
      ::close(fd);
    }
    if (::unshare(CLONE_NEWCGROUP) != 0) ::_exit(121);
    for (int i = 0; ::prctl(PR_CAPBSET_READ, i) >= 0; ++i)
      if (i != CAP_SYS_ADMIN && i != CAP_SYS_PTRACE && i != CAP_SYS_NICE && ::prctl(PR_CAPBSET_DROP, i) != 0)
        ::_exit(122);
    if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) ::_exit(123);
  };
  Start("reconcilePeriod: 500ms\n", confine);
  ASSERT_TRUE(Joined());
  const PodOnNode shared = RunWhole("shared", "burstable", 0);
  const PodOnNode own = RunWhole("own", "", 1000);
  EXPECT_EQ("1", CpusOf(own.container));
  EXPECT_TRUE(Becomes(shared.container, "0"));
  EXPECT_TRUE(Becomes(home.container, "0")) << "its own group too";
  for (const std::string& dir : containerd->Groups()) {  // v1: the kernel moves it up when its CPUs go offline
    if (!dir.starts_with(std::string(testkit::kCgroupMounts) + "/cpuset/") || !dir.ends_with(shared.container))
      continue;
    std::string pid;
    ASSERT_TRUE(std::getline(std::ifstream(dir + "/cgroup.procs"), pid));
    std::ofstream(std::filesystem::path(dir).parent_path() / "cgroup.procs") << pid << std::flush;
    EXPECT_TRUE(berthd->Until(
        "it is back", [&] { return ("\n" + testkit::ReadText(dir + "/cgroup.procs")).contains("\n" + pid + "\n"); }));
  }
  EXPECT_EQ(0, berthd->Stop());
  const auto done = berthd->RunToEnd(
      {"--config", berthd->Dir("berth.yaml"), "--cgroup-root", containerd->cgroup_root(), "--give-back"}, confine);
  EXPECT_EQ(0, done.status) << done.output;
  for (const std::string& id : {shared.container, own.container}) EXPECT_EQ("0-1", CpusOf(id));
}

TEST_F(DaemonNriTest, AContainerThatIsMadeAndNotStartedIsGivenBackWhenItRuns) {
  StartAndJoin();
  const PodOnNode shared = RunWhole("shared", "burstable", 0);
  const PodOnNode own = RunPod("own", "");
  const auto made = Create(own, "app", 1000, kWait);
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_TRUE(Becomes(shared.container, "0"));
  EXPECT_EQ(0, berthd->Stop());
  std::thread kubelet([&] {  // once its look at all containers is over
    EXPECT_TRUE(Becomes(shared.container, "0-1"));
    EXPECT_TRUE(client->Start(*made));
  });
  const auto done = berthd->RunToEnd(
      {"--config", berthd->Dir("berth.yaml"), "--cgroup-root", containerd->cgroup_root(), "--give-back"});
  kubelet.join();
  EXPECT_EQ(0, done.status) << done.output;
  EXPECT_NE(std::string::npos, done.output.find("2 containers may use all CPUs again")) << done.output;
  EXPECT_EQ("0-1", CpusOf(*made));
}

TEST_F(DaemonNriTest, ANodeWithoutNriIsToldOfWithTheCure) {
  std::ofstream(berthd->Dir("berth.yaml")) << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nruntime: nri\n"
                                              "nriSocket: " +
                                                  berthd->Dir("nobody.sock") + "\n";
  berthd->Start({"--config", berthd->Dir("berth.yaml"), "--socket", berthd->socket()});
  EXPECT_TRUE(berthd->Until("it is told", [&] { return berthd->CountEvents("RuntimeNotJoined", "is NRI") == 1; }));
}

// ---- no overlap
// ------------------------------------------------------------------------------------------------------

struct DaemonNriOverlapTest : DaemonNriTest {
  void RunSpinners() {
    for (const char* const tier : {"burstable", "besteffort"})
      spinners.push_back(RunWhole(std::string("spin-") + tier, tier, 0, kSpinQuietly).container);
    spinners.push_back(RunWhole("spin-part", "", 100, kSpinQuietly).container);
  }
  /// A container with CPUs of its own that looks who else may run there; "": none could be made.
  std::string Probe(int round) {
    PodOnNode pod = RunPod("probe" + std::to_string(round), "", true);
    const auto id = Create(pod, "app", 1000, "", 0, {"/overlap_probe", "/hostproc", containerd->cgroup_root()});
    std::string word;
    if (id && client->Start(*id))
      berthd->Until("the probe has looked", [&] {
        word = LogOf(pod);
        return word.find("overlaps") != std::string::npos || word.find("saw") != std::string::npos;
      });
    End(pod);
    berthd->Until("the probe has gone", [&] { return Gone(pod.uid); });
    return id ? word : "refused: " + id.error().message;
  }

  std::vector<std::string> spinners;  // ids
};

TEST_F(DaemonNriOverlapTest, StartsAndStopsBesideSpinnersOfEveryClass) {
  StartAndJoin();
  RunSpinners();
  for (int round = 0; round < RoundsOf(6); ++round) {
    const std::string word = Probe(round);
    ASSERT_NE(std::string::npos, word.find("cpus 1 overlaps 0")) << "round " << round << ": " << word;
  }
  EXPECT_EQ("", berthd->Repairs()) << berthd->output();
}

TEST_F(DaemonNriOverlapTest, ContainersMadeAtTheSameTimeAreKeptOffToo) {
  StartAndJoin();
  RunSpinners();
  for (int round = 0; round < RoundsOf(4); ++round) {
    // Made with the whole pool, and started when half of it is another's.
    const PodOnNode late = RunPod("late" + std::to_string(round), "burstable");
    const auto id = Create(late, "app", 0, "grep Cpus_allowed_list /proc/self/status; " + std::string(kSpinQuietly));
    ASSERT_TRUE(id) << id.error().message;
    PodOnNode own = RunPod("own" + std::to_string(round), "");
    own.container = Run(own, "app", 1000);
    ASSERT_TRUE(client->Start(*id));
    EXPECT_EQ("0", CpusOf(*id));
    EXPECT_TRUE(berthd->Until("it has said where it runs", [&] { return !LogOf(late).empty(); }));
    EXPECT_NE(std::string::npos, LogOf(late).find("Cpus_allowed_list:\t0\n")) << LogOf(late);
    End(own);
    End(late);
    ASSERT_TRUE(berthd->Until("both have gone", [&] { return Gone(own.uid) && Gone(late.uid); }));
  }
}

TEST_F(DaemonNriOverlapTest, ARuntimeThatStopsInBetweenLetsNobodyOntoOthersCpus) {
  StartAndJoin();
  RunSpinners();
  std::mt19937_64 random(20260105);
  for (int round = 0; round < RoundsOf(3); ++round) {
    std::thread stutter([&, seed = random()] {
      std::mt19937_64 dice(seed);
      for (int stop = 0; stop < 3; ++stop) {
        os::SleepFor(os::Millis(std::uniform_int_distribution<int>(0, 120)(dice)));
        containerd->Freeze(true);
        os::SleepFor(os::Millis(std::uniform_int_distribution<int>(20, 250)(dice)));
        containerd->Freeze(false);
      }
    });
    const std::string word = Probe(round);
    stutter.join();
    ASSERT_NE(std::string::npos, word.find("cpus 1 overlaps 0")) << "round " << round << ": " << word;
  }
}

/// As a kubelet does, again and again until it is so.
struct DaemonNriKillTest : DaemonNriOverlapTest {
  /// The pod has a sandbox, and its container runs. Returns its id; "": it did not come to that.
  std::string Converge(const std::string& uid) {
    const cri::SandboxSpec spec = SpecOf(uid, "");
    for (int attempt = 0; attempt < 200; ++attempt, os::SleepFor(os::Millis(50))) {
      const auto sandboxes = client->Sandboxes({});
      const auto containers = client->Containers({});
      if (!sandboxes || !containers) continue;
      PodOnNode pod{.uid = uid, .spec = spec, .sandbox = "", .container = ""};
      for (const cri::Sandbox& sandbox : *sandboxes) {
        if (sandbox.uid != uid) continue;
        if (sandbox.ready && pod.sandbox.empty())
          pod.sandbox = sandbox.id;
        else if (client->StopSandbox(sandbox.id))
          static_cast<void>(client->RemoveSandbox(sandbox.id));
      }
      if (pod.sandbox.empty()) {
        static_cast<void>(client->RunSandbox(spec));
        continue;
      }
      bool there = false;
      for (const cri::ContainerEntry& container : *containers) {
        if (container.sandbox_id != pod.sandbox) continue;
        there = true;
        if (container.state == cri::ContainerEntry::State::kRunning) return container.id;
        if (container.state != cri::ContainerEntry::State::kCreated || !client->Start(container.id))
          static_cast<void>(client->Remove(container.id));
      }
      if (!there) static_cast<void>(Create(pod, "app", 1000, kWait, attempt));
    }
    return "";
  }
  bool Diverge(const std::string& uid) {
    for (int attempt = 0; attempt < 200; ++attempt, os::SleepFor(os::Millis(50))) {
      const auto sandboxes = client->Sandboxes({});
      if (!sandboxes) continue;
      bool there = false;
      for (const cri::Sandbox& sandbox : *sandboxes) {
        if (sandbox.uid != uid) continue;
        there = true;
        if (client->StopSandbox(sandbox.id)) static_cast<void>(client->RemoveSandbox(sandbox.id));
      }
      if (!there) return true;
    }
    return false;
  }
  /// Every spinner has exactly these CPUs.
  bool SpinnersHave(const std::string& cpus) {
    return berthd->Until("spinners have CPUs " + cpus, [&] {
      return std::ranges::all_of(spinners, [&](const std::string& id) { return CpusOf(id) == cpus; });
    });
  }
};

TEST_F(DaemonNriKillTest, KillsOfEitherAtAnyMomentAreOvercome) {
  StartAndJoin();
  RunSpinners();
  std::filesystem::create_directories(containerd->Dir("logs/own"));
  const std::uint64_t seed = 20260106;
  std::mt19937_64 random(seed);
  for (int round = 0; round < RoundsOf(8); ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " round " + std::to_string(round));
    const bool comes = round % 2 == 0;
    const bool kills_runtime = round % 4 >= 2;
    const os::Millis delay(std::uniform_int_distribution<int>(0, comes ? 250 : 120)(random));
    std::thread killer([&] {
      os::SleepFor(delay);
      if (kills_runtime) {
        containerd->Kill();
        containerd->Start(ContainerdFixture::With::kCriAndNri);
      } else {
        berthd->Kill();
        Start();
      }
    });
    const std::string id = comes ? Converge("own") : "";
    const bool gone = comes || Diverge("own");
    killer.join();
    ASSERT_TRUE(gone);
    ASSERT_EQ(comes, !id.empty());
    ASSERT_TRUE(SpinnersHave(comes ? "0" : "0-1"));
    const std::string now = comes ? Converge("own") : "";  // a kill may have come after it ran
    ASSERT_TRUE(!comes || Becomes(now, "1"));
    ASSERT_TRUE(berthd->Until("the ledger says so", [&] { return berthd->PodNamed("own").is_object() == comes; }));
    EXPECT_EQ("", berthd->Repairs()) << berthd->output();
  }
}

/// berthd stands still, so that the runtime waits in the first hook of a call; then one of the two is killed.
TEST_F(DaemonNriKillTest, OneIsKilledAtEachHook) {
  StartAndJoin();
  RunSpinners();
  std::filesystem::create_directories(containerd->Dir("logs/own"));
  const auto sandbox = [&]() -> std::string {
    const auto all = client->Sandboxes({});
    if (all)
      for (const cri::Sandbox& each : *all)
        if (each.uid == "own") return each.id;
    return "";
  };
  const auto pod = [&] {
    return PodOnNode{.uid = "own", .spec = SpecOf("own", ""), .sandbox = sandbox(), .container = ""};
  };
  std::string id;  // of its container
  const std::vector<std::pair<const char*, std::function<void()>>> calls = {
      {"RunPodSandbox", [&] { static_cast<void>(client->RunSandbox(SpecOf("own", ""))); }},
      {"CreateContainer", [&] { static_cast<void>(Create(pod(), "app", 1000, kWait, 1)); }},
      {"StartContainer", [&] { static_cast<void>(client->Start(Create(pod(), "app", 1000, kWait, 2).value_or(""))); }},
      {"UpdateContainer", [&] { static_cast<void>(client->Update(id, {.cpu_shares = 512})); }},
      {"StopContainer", [&] { static_cast<void>(client->Stop(id, std::chrono::seconds(1))); }},
      {"StopPodSandbox", [&] { static_cast<void>(client->StopSandbox(sandbox())); }},
      {"RemovePodSandbox", [&] { static_cast<void>(client->RemoveSandbox(sandbox())); }},
  };
  const int rounds = RoundsOf(1);
  for (int i = 0; i < rounds * static_cast<int>(calls.size()); ++i) {
    const auto& [name, call] = calls[static_cast<std::size_t>(i) % calls.size()];
    const bool runtime = (i + i / static_cast<int>(calls.size())) % 2 == 0;
    SCOPED_TRACE(std::string(runtime ? "containerd" : "berthd") + " is killed in " + name + ", " + std::to_string(i));
    const bool begins = std::string(name) == "RunPodSandbox";
    ASSERT_TRUE(Diverge("own"));
    if (!begins) {
      ASSERT_TRUE(client->RunSandbox(SpecOf("own", "")));
      if (std::string(name).starts_with("Update") || std::string(name).starts_with("Stop"))
        id = Run(pod(), "app", 1000);
    }
    ::kill(berthd->pid(), SIGSTOP);
    std::thread caller(call);
    os::SleepFor(os::Millis(150));  // the call comes to its hook
    if (runtime) {
      containerd->Kill();
      ::kill(berthd->pid(), SIGCONT);
      caller.join();
      containerd->Start(ContainerdFixture::With::kCriAndNri);
    } else {
      berthd->Kill();
      caller.join();
      Start();
    }
    const std::string now = Converge("own");
    ASSERT_FALSE(now.empty());
    ASSERT_TRUE(Becomes(now, "1"));
    ASSERT_TRUE(SpinnersHave("0"));
    ASSERT_TRUE(Diverge("own"));
    ASSERT_TRUE(SpinnersHave("0-1"));
    EXPECT_EQ("", berthd->Repairs()) << berthd->output();
  }
}

}  // namespace
}  // namespace berth
