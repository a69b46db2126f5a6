// No overlap, ever: containers with CPUs of their own come and go beside spinners of every class, while the runtime is
// slow, is stopped and goes on, is killed, and while berthd is killed at any moment.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <mutex>
#include <random>

#include "cri_node.h"
#include "host/os/clock.h"

namespace berth {
namespace {

using testkit::kTestImage;
using testkit::Rounds;
using testkit::SeenProcess;

const char* const kQuietSpin = "while :; do :; done";

/// Thread: any.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  int Of(int most) {
    const std::lock_guard lock(mutex_);
    return std::uniform_int_distribution<int>(0, most)(random_);
  }

 private:
  std::mutex mutex_;
  std::mt19937_64 random_;
};

struct DaemonCriOverlapTest : testkit::CriNodeTest {
  void SetUp() override {
    CriNodeTest::SetUp();
    if (IsSkipped()) return;
    std::filesystem::copy_file(BERTH_OVERLAP_PROBE, berthd->Dir("overlap_probe"));
    settings = "nodeFit: false\n";  // more is asked for than the one CPU that is not reserved
  }

  void AddSpinners() {
    Add({.name = "best", .script = kQuietSpin});
    Add({.name = "burst", .script = kQuietSpin, .container = "    resources: {requests: {cpu: 100m, memory: 16Mi}}\n"});
    Add({.name = "guar", .script = kQuietSpin, .cpu = "100m"});
  }
  void AddProbe() {
    Add({.name = "probe",
         .cpu = "1",
         .spec = "  volumes: [{name: proc, hostPath: {path: /proc}}, {name: probe, hostPath: {path: " +
                 berthd->Dir("overlap_probe") + "}}]\n",
         .container = "    securityContext: {privileged: true}\n"  // in the host's cgroup namespace
                      "    volumeMounts: [{name: proc, mountPath: /hostproc, readOnly: true}, "
                      "{name: probe, mountPath: /overlap_probe, readOnly: true}]\n",
         .command = "[/overlap_probe, /hostproc, " + berthd->cgroup_root() + "]"});
  }
  /// Starts a probe, takes its word, removes it. False after a failure.
  bool Probe() {
    AddProbe();
    std::string word;
    const bool said = berthd->Until("the probe has looked", [&] {
      word = LogOf("probe");
      return word.find("overlaps") != std::string::npos || word.find("saw") != std::string::npos;
    });
    EXPECT_NE(std::string::npos, word.find("cpus 1 overlaps 0")) << word;
    Remove("probe");
    return said && berthd->Until("the probe is gone", [&] { return Gone("probe"); }) && !HasFailure();
  }
  bool SpinnersRun() { return berthd->Runs("best") && berthd->Runs("burst") && berthd->Runs("guar"); }
  void EndAll() {
    for (const char* const name : {"best", "burst", "guar", "probe"}) Remove(name);
    EXPECT_TRUE(berthd->Until("all are gone", [&] { return NoPods(); }));
  }
};

TEST_F(DaemonCriOverlapTest, StartsAndStopsBesideSpinnersOfEveryClass) {
  Start();
  AddSpinners();
  ASSERT_TRUE(berthd->Until("spinners run", [&] { return SpinnersRun(); }));
  for (int round = 0; round < Rounds(6); ++round) ASSERT_TRUE(Probe()) << "round " << round;
  EXPECT_EQ("", berthd->Repairs()) << berthd->output();
  EndAll();
  ExpectNothingLeft();
}

TEST_F(DaemonCriOverlapTest, ARuntimeThatStopsInBetweenLetsNobodyOntoOthersCpus) {
  Start();
  AddSpinners();
  ASSERT_TRUE(berthd->Until("spinners run", [&] { return SpinnersRun(); }));
  std::mt19937_64 random(20260102);
  for (int round = 0; round < Rounds(4); ++round) {
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
  ExpectNothingLeft();
}

/// Each call may wait before the runtime hears of it or before berthd hears of its end, for longer than berthd waits
/// now and then, and may be lost on either way.
TEST_F(DaemonCriOverlapTest, ARuntimeThatIsSlowLateOrLosesWordsLetsNobodyOntoOthersCpus) {
  const std::uint64_t seed = 20260104;
  SCOPED_TRACE("seed " + std::to_string(seed));
  PutRelayBetween();
  berthd->Configure("crashLoopBackOff: {maxContainerRestartPeriod: 1s}\nruntimeRequestTimeout: 5s\n");
  Start();
  AddSpinners();
  ASSERT_TRUE(berthd->Until("spinners run", [&] { return SpinnersRun(); }));
  relay->SetJudge([dice = std::make_shared<Dice>(seed)](const testkit::RelayedCall&, testkit::CriRelay::Moment) {
    if (dice->Of(199) == 0) return testkit::CriRelay::Fate{.delay = os::Millis(5'500), .lost = false};
    const os::Millis delay(dice->Of(9) < 7 ? 0 : dice->Of(150));
    return testkit::CriRelay::Fate{.delay = delay, .lost = dice->Of(24) == 0};
  });
  for (int round = 0; round < Rounds(3); ++round) ASSERT_TRUE(Probe()) << "round " << round;
  relay->SetJudge(nullptr);
  EndAll();
  ExpectNothingLeft();
}

/// After SIGKILL of either at any moment of starts and stops: everything ends up as the manifests say.
TEST_F(DaemonCriOverlapTest, KillsAtAnyMomentAreOvercome) {
  Start();
  AddSpinners();
  const std::uint64_t seed = 20260103;
  std::mt19937_64 random(seed);
  for (int round = 0; round < Rounds(3); ++round) {
    SCOPED_TRACE("seed " + std::to_string(seed) + " round " + std::to_string(round));
    const bool adding = round % 2 == 0;
    if (adding) AddProbe();
    if (!adding) Remove("probe");
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
      EXPECT_EQ(testkit::OtherCpus(), FormatIds(process.allowed)) << process.name << " in " << process.cgroup;
    }
  }
  EndAll();
  ExpectNothingLeft();
}

}  // namespace
}  // namespace berth
