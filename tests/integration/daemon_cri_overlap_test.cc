// No overlap, ever: containers with CPUs of their own come and go beside spinners of every class, while the runtime is
// slow, is stopped and goes on, is killed, and while berthd is killed at any moment.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "base/text.h"
#include "containerd_fixture.h"
#include "daemon_fixture.h"
#include "os/clock.h"

namespace berth {
namespace {

using testkit::ContainerdFixture;
using testkit::DaemonFixture;
using testkit::SeenProcess;

/// Rounds of a long test: `usual`, or BERTH_CRI_ROUNDS.
int Rounds(int usual) {
  const char* const text = std::getenv("BERTH_CRI_ROUNDS");
  return text == nullptr ? usual : ParseDecimal<int>(text).value_or(usual);
}

std::string Pod(const std::string& name, const std::string& command, const std::string& resources,
                const std::string& mounts = "", const std::string& volumes = "") {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
         "}\nspec:\n  hostNetwork: true\n  terminationGracePeriodSeconds: 2\n" + volumes +
         "  containers:\n  - name: app\n    image: localhost/berth/busybox:1\n    command: " + command + "\n" + mounts +
         resources;
}

const char* const kSpin = "[/bin/sh, -c, \"while :; do :; done\"]";

struct DaemonCriOverlapTest : testing::Test {
  void SetUp() override {
    for (const auto& why : {ContainerdFixture::WhyNot(), DaemonFixture::WhyNot()})
      if (why) GTEST_SKIP() << *why;
    containerd.emplace();
    containerd->Start();
    berthd.emplace();
    std::filesystem::copy_file(BERTH_OVERLAP_PROBE, berthd->Dir("overlap_probe"));
  }
  void Start() {
    // More is asked for than the one CPU that is not reserved.
    std::ofstream(berthd->Dir("berth.yaml"))
        << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nruntime: cri\nnodeFit: false\n";
    berthd->Start({"--config", berthd->Dir("berth.yaml"), "--socket", berthd->socket(), "--runtime-endpoint",
                   "unix://" + containerd->socket()});
  }

  void AddSpinners() {
    berthd->AddPod("best.yaml", Pod("best", kSpin, ""));
    berthd->AddPod("burst.yaml", Pod("burst", kSpin, "    resources: {requests: {cpu: 100m, memory: 16Mi}}\n"));
    berthd->AddPod("guar.yaml", Pod("guar", kSpin, "    resources: {limits: {cpu: 100m, memory: 16Mi}}\n"));
  }
  void AddProbe(const std::string& name = "probe") {
    berthd->AddPod(
        name + ".yaml",
        Pod(name, "[/overlap_probe, /hostproc, " + berthd->cgroup_root() + "]",
            "    resources: {limits: {cpu: 1, memory: 16Mi}}\n",
            "    volumeMounts: [{name: proc, mountPath: /hostproc, readOnly: true}, {name: probe, mountPath: "
            "/overlap_probe, readOnly: true}]\n",
            "  volumes: [{name: proc, hostPath: {path: /proc}}, {name: probe, hostPath: {path: " +
                berthd->Dir("overlap_probe") + "}}]\n"));
  }
  std::string LogOf(const std::string& name) {
    std::string out;
    std::error_code error;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(berthd->Dir("log"), error))
      if (entry.is_regular_file(error) && entry.path().string().find("_" + name + "-n1_") != std::string::npos) {
        std::ifstream in(entry.path());
        std::ostringstream text;
        text << in.rdbuf();
        out += text.str();
      }
    return out;
  }
  bool Gone(const std::string& name) { return !berthd->PodNamed(name).is_object(); }
  /// Starts a probe, takes its word, removes it. False after a failure.
  bool Probe() {
    AddProbe();
    std::string word;
    const bool said = berthd->Until("the probe has looked", [&] {
      word = LogOf("probe");
      return word.find("overlaps") != std::string::npos;
    });
    EXPECT_NE(std::string::npos, word.find("cpus 1 overlaps 0")) << word;
    berthd->RemovePod("probe.yaml");
    return said && berthd->Until("the probe is gone", [&] { return Gone("probe"); }) && !HasFailure();
  }
  bool SpinnersRun() { return berthd->Runs("best") && berthd->Runs("burst") && berthd->Runs("guar"); }
  /// `shims`: the runtime has to be rid of its helpers too; one that was killed may have left some behind.
  void EndAll(bool shims = true) {
    for (const char* const name : {"best", "burst", "guar", "probe", "alone"})
      std::filesystem::remove(berthd->Dir(std::string("pods/") + name + ".yaml"));
    EXPECT_TRUE(berthd->Until("all are gone", [&] {
      const codec::Json pods = berthd->Get("/v1/pods");
      return pods.is_object() && pods["pods"].empty();
    }));
    if (shims) {
      EXPECT_TRUE(berthd->Until("no shim is left", [&] { return containerd->Shims() == 0; }));
      EXPECT_TRUE(containerd->Mounts().empty());
    }
    for (const std::string& group : berthd->Groups()) EXPECT_EQ(std::string::npos, group.find("/pod")) << group;
  }

  std::optional<ContainerdFixture> containerd;
  std::optional<DaemonFixture> berthd;  // ends first
};

TEST_F(DaemonCriOverlapTest, StartsAndStopsBesideSpinnersOfEveryClass) {
  Start();
  AddSpinners();
  ASSERT_TRUE(berthd->Until("spinners run", [&] { return SpinnersRun(); }));
  for (int round = 0; round < Rounds(10); ++round) ASSERT_TRUE(Probe()) << "round " << round;
  EXPECT_EQ(0, berthd->CountEvents("CgroupRepaired")) << berthd->output();
  EndAll();
}

TEST_F(DaemonCriOverlapTest, ARuntimeThatStopsInBetweenLetsNobodyOntoOthersCpus) {
  Start();
  AddSpinners();
  ASSERT_TRUE(berthd->Until("spinners run", [&] { return SpinnersRun(); }));
  std::mt19937_64 random(20260102);
  for (int round = 0; round < Rounds(6); ++round) {
    AddProbe();
    for (int stop = 0; stop < 3; ++stop) {
      os::SleepFor(os::Millis(std::uniform_int_distribution<int>(0, 120)(random)));
      containerd->Freeze(true);
      os::SleepFor(os::Millis(std::uniform_int_distribution<int>(20, 250)(random)));
      containerd->Freeze(false);
    }
    ASSERT_TRUE(Probe()) << "round " << round;
  }
  EndAll();
}

/// After SIGKILL of either at any moment of starts and stops: everything ends up as the manifests say.
TEST_F(DaemonCriOverlapTest, KillsAtAnyMomentAreOvercome) {
  Start();
  AddSpinners();
  const std::uint64_t seed = 20260103;
  std::mt19937_64 random(seed);
  for (int round = 0; round < Rounds(6); ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " round " + std::to_string(round));
    const bool adding = round % 2 == 0;
    if (adding) AddProbe();
    if (!adding) berthd->RemovePod("probe.yaml");
    os::SleepFor(os::Millis(std::uniform_int_distribution<int>(0, 900)(random)));
    if (round % 3 == 2) {
      containerd->Kill();
      os::SleepFor(os::Millis(std::uniform_int_distribution<int>(0, 300)(random)));
      containerd->Start();
    } else {
      berthd->Kill();
      Start();
    }
    ASSERT_TRUE(berthd->Until("it is as the manifests say", [&] {
      return SpinnersRun() && (adding ? berthd->Runs("probe") && !LogOf("probe").empty() : Gone("probe"));
    }));
    if (adding) {
      EXPECT_EQ(std::string::npos, LogOf("probe").find("overlaps 1")) << LogOf("probe");
      EXPECT_NE(std::string::npos, LogOf("probe").find("cpus 1 overlaps 0")) << LogOf("probe");
    }
    for (const SeenProcess& process : berthd->Processes()) {
      if (!adding || process.name == "overlap_probe" || process.name.starts_with("runc")) continue;
      EXPECT_EQ("0", FormatIds(process.allowed)) << process.name << " in " << process.cgroup;
    }
  }
  EndAll(/*shims=*/false);
}

}  // namespace
}  // namespace berth
