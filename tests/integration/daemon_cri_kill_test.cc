// SIGKILL of berthd or of containerd at each call of a pod's start and end: before the runtime hears of the call, and
// after it was done but nobody was told. Whatever was killed is started again, and everything ends up as the manifests
// say: no overlap, nothing restarted or moved that ran, nothing left behind.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>

#include "cri_node.h"

namespace berth {
namespace {

using testkit::CriRelay;
using testkit::RelayedCall;
using testkit::SeenProcess;
using Moment = CriRelay::Moment;

enum class Victim { kBerthd, kContainerd };

constexpr const char* kStart = "StartContainer";
constexpr const char* kUpdate = "UpdateContainerResources";
constexpr int kMostLooks = 10'000;

/// One life of a pod: a kill at a call of its start, and one at a call of its end.
struct Life {
  const char* start;
  const char* end;
};
constexpr std::array<Life, 5> kLives{{{.start = "RunPodSandbox", .end = "StopContainer"},
                                      {.start = "ImageStatus", .end = "StopPodSandbox"},
                                      {.start = "CreateContainer", .end = "RemoveContainer"},
                                      {.start = kStart, .end = "RemovePodSandbox"},
                                      {.start = kUpdate, .end = kUpdate}}};

class DaemonCriKillTest : public testkit::CriNodeTest, public testing::WithParamInterface<std::tuple<Victim, Moment>> {
 protected:
  void SetUp() override {
    CriNodeTest::SetUp();
    if (IsSkipped()) return;
    PutRelayBetween();
    berthd->Configure("crashLoopBackOff: {maxContainerRestartPeriod: 1s}\n");
    Start();
    Add({.name = "shared", .script = testkit::kSpin});
    ASSERT_TRUE(berthd->Until("shared runs", [&] { return berthd->Runs("shared"); }));
    shared_pid_ = berthd->Pids()["shared-n1/app"];
  }

  /// The next call of `method` is the victim's last moment.
  void Arm(const std::string& method) {
    const auto [victim, moment] = GetParam();
    const int pid = victim == Victim::kBerthd ? berthd->pid() : containerd->pid();
    armed_ = true;
    killed_ = false;
    relay->SetJudge([this, method, last = moment, pid](const RelayedCall& call, Moment now) {
      CriRelay::Fate fate;
      if (method != kStart && call.method == kStart) {
        fate.lost = !NoteStart(now);
        return fate;
      }
      if (call.method != method || now != last || !armed_.exchange(false)) return fate;
      BetweenStarts();
      ::kill(pid, SIGKILL);
      killed_ = true;  // not before: Overcome() kills too, and does not look for starts
      fate.lost = true;
      return fate;
    });
  }
  /// False: what was asked just before the end came, and is not to be begun any more.
  bool NoteStart(Moment now) {
    const std::lock_guard lock(starts_);
    if (now == Moment::kAsked && ending_) return false;
    starting_ = now == Moment::kAsked;
    return true;
  }
  /// Another pod's start that is cancelled in its midst containerd 1.6 never gets rid of (docs/design/cri.md), or ends
  /// what ran already. Returns when none is under way; none begins from then on.
  void BetweenStarts() {
    for (int look = 0; look < kMostLooks; ++look) {
      {
        const std::lock_guard lock(starts_);
        ending_ = !starting_;
        if (ending_) return;
      }
      ::poll(nullptr, 0, 1);
    }
    ADD_FAILURE() << "a start does not end";
  }
  /// Waits for the kill and starts again what was killed.
  void Overcome() {
    ASSERT_TRUE(containerd->Until("the call comes", [&] { return killed_.load(); })) << berthd->output();
    const bool berthds = std::get<0>(GetParam()) == Victim::kBerthd;
    berthds ? berthd->Kill() : containerd->Kill();
    {
      const std::lock_guard lock(starts_);
      starting_ = ending_ = false;
    }
    berthds ? Start() : containerd->Start();
  }
  bool UntilWithoutOverlap(const std::string& what, const std::function<bool()>& done) {
    return berthd->Until(what, [&] {
      ExpectNoOverlap();
      return done();
    });
  }

  /// Pids of shells in the Guaranteed pod: these are past their first instruction.
  static std::vector<int> Owners(const std::vector<SeenProcess>& processes) {
    std::vector<int> out;
    for (const SeenProcess& process : processes)
      if (process.cgroup.starts_with("kubepods/pod") && process.name == "sh") out.push_back(process.pid);
    return out;
  }
  /// Looked at one after another: an overlap is one only with an owner that was there before and after.
  void ExpectNoOverlap() {
    const std::vector<int> before = Owners(berthd->Processes());
    if (before.empty()) return;
    const std::vector<SeenProcess> others = berthd->Processes();
    const std::vector<int> after = Owners(berthd->Processes());
    if (std::ranges::none_of(before, [&](int pid) { return std::ranges::find(after, pid) != after.end(); })) return;
    for (const SeenProcess& process : others) {
      if (process.cgroup.starts_with("kubepods/pod") && process.name != "sh") continue;  // its sandbox, its sleep
      // Any shell there is one of the owner's: its first, or a child that has not become its sleep yet.
      const bool owner = process.cgroup.starts_with("kubepods/pod");
      EXPECT_EQ(owner ? "1" : testkit::OtherCpus(), FormatIds(process.allowed))
          << process.name << " in " << process.cgroup;
    }
  }
  /// The CPUs the runtime was told last for the container of the pod in the shared pool.
  bool Told(const std::string& cpus) {
    const codec::Json pod = berthd->PodNamed("shared");
    if (!pod.is_object()) return false;
    const std::string id = pod["containers"][0]["id"];
    const std::vector<RelayedCall> calls = relay->Calls();
    const auto last = std::find_if(calls.rbegin(), calls.rend(), [&](const auto& call) {
      return call.method == kUpdate && call.request.find(id) != std::string::npos;
    });
    const std::string field = std::string("\x32") + static_cast<char>(cpus.size()) + cpus;  // cpuset_cpus
    return last != calls.rend() && last->request.find(field) != std::string::npos;
  }
  /// The pod in the shared pool has these CPUs, the runtime knows, and it is what it was.
  void ExpectShared(const std::string& cpus) {
    EXPECT_TRUE(berthd->Until("shared is on " + cpus, [&] { return FormatIds(CpusOf("shared")) == cpus; }));
    EXPECT_TRUE(berthd->Until("the runtime knows", [&] { return Told(cpus); }));
    EXPECT_EQ(shared_pid_, berthd->Pids()["shared-n1/app"]);
    const codec::Json pod = berthd->PodNamed("shared");
    EXPECT_TRUE(pod.is_object() && pod["containers"][0]["restarts"] == 0) << pod.dump(1);
  }

  void KillWhileItStarts(const std::string& method) {
    SCOPED_TRACE("killed in its start at " + method);
    alone_ = "alone" + std::to_string(++lives_);  // what is left of another life is none of its own
    Arm(method);
    Add({.name = alone_, .script = std::string("echo began; ") + testkit::kIdle, .cpu = "1"});
    Overcome();
    // A runtime that was killed once it had started the container tells its process only when it is back.
    ASSERT_TRUE(UntilWithoutOverlap("alone runs", [&] {
      return berthd->Runs(alone_) && berthd->Pids().contains(alone_ + "-n1/app") && !LogOf(alone_).empty();
    }));
    EXPECT_EQ("began\n", WordsOf(alone_)) << "it was started twice\n" << berthd->output();
    EXPECT_EQ("1", FormatIds(CpusOf(alone_))) << Seen();
    ExpectShared(testkit::OtherCpus());
  }
  /// What berthd says of the pod, and what runs in its groups.
  std::string Seen() {
    std::string out = berthd->PodNamed(alone_).dump(1) + "\n";
    for (const SeenProcess& process : berthd->Processes())
      out += std::to_string(process.pid) + " " + process.name + " on " + FormatIds(process.allowed) + " in " +
             process.cgroup + "\n";
    return out + berthd->output();
  }
  void KillWhileItEnds(const std::string& method) {
    SCOPED_TRACE("killed in its end at " + method);
    const int pid = berthd->Pids()[alone_ + "-n1/app"];
    EXPECT_GT(pid, 1);
    Arm(method);
    Remove(alone_);
    Overcome();
    ASSERT_TRUE(UntilWithoutOverlap("alone is gone", [&] { return Gone(alone_); }));
    for (const SeenProcess& process : berthd->Processes()) EXPECT_NE(pid, process.pid) << "it still runs";
    ExpectShared(testkit::AllCpus());
  }

  std::atomic<bool> armed_ = false;   // the kill is still to be decided
  std::atomic<bool> killed_ = false;  // it has been done
  std::mutex starts_;
  bool starting_ = false;  // under starts_: the runtime is at a start
  bool ending_ = false;    // under starts_: what begins now would be cut off
  int shared_pid_ = 0;
  std::string alone_;  // the pod whose life it is
  int lives_ = 0;
};

TEST_P(DaemonCriKillTest, EveryPodEndsUpAsItsManifestSays) {
  for (const Life& life : kLives) {
    KillWhileItStarts(life.start);
    if (HasFailure()) break;
    KillWhileItEnds(life.end);
    if (HasFailure()) break;
  }
  relay->SetJudge(nullptr);
  Remove("shared");
  Remove(alone_);
  ASSERT_TRUE(berthd->Until("all are gone", [&] { return NoPods(); }));
  ExpectNothingLeft();
}

std::string NameOf(const testing::TestParamInfo<std::tuple<Victim, Moment>>& info) {
  const auto [victim, moment] = info.param;
  return std::string(victim == Victim::kBerthd ? "Berthd" : "Containerd") +
         (moment == Moment::kAsked ? "BeforeTheCall" : "AfterTheCall");
}

INSTANTIATE_TEST_SUITE_P(Killed, DaemonCriKillTest,
                         testing::Combine(testing::Values(Victim::kBerthd, Victim::kContainerd),
                                          testing::Values(Moment::kAsked, Moment::kAnswered)),
                         NameOf);

}  // namespace
}  // namespace berth
