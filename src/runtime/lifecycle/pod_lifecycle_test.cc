#include "runtime/lifecycle/pod_lifecycle.h"

#include <gtest/gtest.h>

#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <sstream>

namespace berth::runtime {
namespace {

using std::chrono::seconds;

os::MonoTime At(double s) {
  return os::MonoTime(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(s)));
}

Container Named(std::string name, bool sidecar = false) {
  Container container;
  container.name = std::move(name);
  container.restartable_init = sidecar;
  return container;
}

Pod MakePod(RestartPolicy policy, std::vector<Container> init, std::vector<std::string> apps) {
  Pod pod;
  pod.restart_policy = policy;
  pod.init_containers = std::move(init);
  for (std::string& name : apps) pod.containers.push_back(Named(std::move(name)));
  return pod;
}

// Drives a lifecycle the way the daemon does, with containers that do as told.
class Driver {
 public:
  explicit Driver(const Pod& pod) : life(pod) {}

  /// Next at `now` as text: "start a/0, term b/1, kill c/0; wake 12".
  std::string Next(double now) {
    const Steps steps = life.Next(At(now));
    std::ostringstream out;
    for (const Action& action : steps.actions) {
      if (out.tellp() > 0) out << ", ";
      const char* verb = action.kind == Action::Kind::kStart  ? "start "
                         : action.kind == Action::Kind::kTerm ? "term "
                                                              : "kill ";
      out << verb << action.container << "/" << action.attempt;
      EXPECT_EQ(action.id, action.kind == Action::Kind::kStart ? "" : Id(action.container, action.attempt));
    }
    if (steps.wake_at) out << "; wake " << std::chrono::duration<double>(steps.wake_at->time_since_epoch()).count();
    return out.str();
  }
  static std::string Id(const std::string& name, int attempt) { return name + "#" + std::to_string(attempt); }
  ContainerStatus Status(const std::string& name, int attempt, std::optional<int> code) {
    ContainerStatus status;
    status.id = Id(name, attempt);
    status.container = name;
    status.attempt = attempt;
    status.state = code ? ContainerState::kExited : ContainerState::kRunning;
    status.exit_code = code;
    return status;
  }
  void Runs(const std::string& name, double now, int attempt = 0) { life.Observe(Status(name, attempt, {}), At(now)); }
  void Ends(const std::string& name, int code, double now, int attempt = 0) {
    life.Observe(Status(name, attempt, code), At(now));
  }
  ContainerView View(const std::string& name) {
    for (ContainerView& view : life.containers())
      if (view.name == name) return view;
    ADD_FAILURE() << name;
    return {};
  }

  PodLifecycle life;
};

TEST(PodLifecycleTest, AppsStartTogether) {
  Driver d(MakePod(RestartPolicy::kAlways, {}, {"a", "b"}));
  EXPECT_EQ(d.life.phase(), PodPhase::kPending);
  EXPECT_EQ(d.View("a").reason, "ContainerCreating");
  EXPECT_EQ(d.Next(0), "start a/0, start b/0");
  EXPECT_EQ(d.Next(0), "start a/0, start b/0") << "named until the result is reported";
  d.Runs("a", 0);
  EXPECT_EQ(d.life.phase(), PodPhase::kPending);
  EXPECT_EQ(d.Next(0), "start b/0");
  d.Runs("b", 0);
  EXPECT_EQ(d.Next(1), "");
  EXPECT_EQ(d.life.phase(), PodPhase::kRunning);
  EXPECT_EQ(d.View("a").state, ContainerView::State::kRunning);
}

TEST(PodLifecycleTest, InitContainersRunOneAfterAnother) {
  Driver d(MakePod(RestartPolicy::kAlways, {Named("i1"), Named("i2")}, {"a"}));
  EXPECT_EQ(d.Next(0), "start i1/0");
  d.Runs("i1", 0);
  EXPECT_EQ(d.Next(0), "");
  EXPECT_EQ(d.View("a").reason, "PodInitializing");
  d.Ends("i1", 0, 1);
  EXPECT_EQ(d.Next(1), "kill i1/0, start i2/0") << "what it left behind goes first";
  d.Runs("i2", 1);
  EXPECT_EQ(d.life.phase(), PodPhase::kPending);
  d.Ends("i2", 0, 2);
  EXPECT_EQ(d.Next(2), "kill i2/0, start a/0");
  d.Runs("a", 2);
  EXPECT_EQ(d.life.phase(), PodPhase::kRunning);
  EXPECT_EQ(d.View("i1").reason, "Completed");
}

TEST(PodLifecycleTest, SidecarCountsAsStartedOnceItRuns) {
  Driver d(MakePod(RestartPolicy::kAlways, {Named("s1", true), Named("i"), Named("s2", true)}, {"a"}));
  EXPECT_EQ(d.Next(0), "start s1/0");
  d.Runs("s1", 0);
  EXPECT_EQ(d.Next(0), "start i/0");
  d.Runs("i", 0);
  d.Ends("s1", 1, 1);
  EXPECT_EQ(d.Next(1), "kill s1/0, start s1/1") << "restarted while the init container runs";
  d.Runs("s1", 1, 1);
  d.Ends("i", 0, 2);
  EXPECT_EQ(d.Next(2), "kill i/0, start s2/0");
  d.Ends("s2", 1, 2);
  EXPECT_EQ(d.Next(2), "kill s2/0, start s2/1") << "apps wait for the last sidecar";
  d.Runs("s2", 2, 1);
  EXPECT_EQ(d.Next(2), "start a/0");
}

TEST(PodLifecycleTest, SidecarsAreRestartedAfterTheAppsStartedWhateverThePolicy) {
  Driver d(MakePod(RestartPolicy::kNever, {Named("s", true)}, {"a"}));
  d.Runs("s", 0);
  d.Runs("a", 0);
  d.Ends("s", 0, 5);
  EXPECT_EQ(d.Next(5), "kill s/0, start s/1");
  d.Runs("s", 5, 1);
  d.Ends("s", 0, 6, 1);
  EXPECT_EQ(d.Next(6), "kill s/1; wake 16");
  EXPECT_EQ(d.life.phase(), PodPhase::kRunning);
}

TEST(PodLifecycleTest, CrashLoopBacksOffAsTheKubeletDoes) {
  Driver d(MakePod(RestartPolicy::kAlways, {}, {"a"}));
  d.Runs("a", 0);
  d.Ends("a", 1, 1);
  EXPECT_EQ(d.View("a").reason, "Error");
  EXPECT_EQ(d.Next(1), "kill a/0, start a/1") << "the first restart is immediate";
  d.Runs("a", 1, 1);
  d.Ends("a", 1, 2, 1);
  EXPECT_EQ(d.Next(2), "kill a/1; wake 12");
  EXPECT_EQ(d.View("a").state, ContainerView::State::kWaiting);
  EXPECT_EQ(d.View("a").reason, "CrashLoopBackOff");
  EXPECT_EQ(d.View("a").message, "back-off 10s restarting failed container");
  EXPECT_EQ(d.View("a").restarts, 1);
  EXPECT_EQ(d.life.phase(), PodPhase::kRunning);
  EXPECT_EQ(d.Next(11.9), "; wake 12");
  EXPECT_EQ(d.Next(12), "start a/2");
  EXPECT_EQ(d.Next(13), "start a/2") << "due once is due until it happens";
  d.Runs("a", 13, 2);
  d.Ends("a", 0, 14, 2);
  EXPECT_EQ(d.Next(14), "kill a/2; wake 34") << "success does not shorten it";
  EXPECT_EQ(d.Next(34), "start a/3");
  d.Runs("a", 34, 3);
  d.Ends("a", 1, 34 + 601, 3);
  EXPECT_EQ(d.Next(635), "kill a/3, start a/4") << "it ran fine for more than ten minutes";
}

TEST(PodLifecycleTest, WhatEndsWithItsSandboxIsStartedAtOnceAndNotCounted) {
  Driver d(MakePod(RestartPolicy::kAlways, {}, {"a", "b", "c"}));
  for (const char* const name : {"a", "b", "c"}) {
    d.Runs(name, 0);
    d.Ends(name, 1, 1);
  }
  EXPECT_EQ(d.Next(1), "kill a/0, kill b/0, kill c/0, start a/1, start b/1, start c/1");
  for (const char* const name : {"a", "b", "c"}) d.Runs(name, 1, 1);
  d.Ends("c", 1, 94, 1);
  d.Ends("a", 137, 99, 1);
  d.life.ForgiveEnds(At(100));
  d.Ends("b", 137, 101, 1);
  EXPECT_EQ(d.Next(101), "kill a/1, kill b/1, kill c/1, start a/2, start b/2; wake 104") << "c had ended before";
  d.Runs("a", 102, 2);
  d.Ends("a", 1, 103, 2);
  d.Runs("b", 102, 2);
  EXPECT_EQ(d.Next(103), "kill a/2; wake 104");
  EXPECT_EQ(d.Next(104), "start c/2; wake 113") << "its second end of its own: the same pause as before";
}

TEST(PodLifecycleTest, OnFailureRestartsFailuresOnly) {
  Driver d(MakePod(RestartPolicy::kOnFailure, {}, {"a", "b"}));
  d.Runs("a", 0);
  d.Runs("b", 0);
  d.Ends("a", 0, 1);
  d.Ends("b", 3, 1);
  EXPECT_EQ(d.Next(1), "kill a/0, kill b/0, start b/1");
  d.Runs("b", 1, 1);
  EXPECT_EQ(d.life.phase(), PodPhase::kRunning);
  d.Ends("b", 0, 2, 1);
  EXPECT_EQ(d.Next(2), "kill b/1");
  EXPECT_EQ(d.life.phase(), PodPhase::kSucceeded);
  EXPECT_TRUE(d.life.finished());
  EXPECT_EQ(d.Next(3), "");
}

TEST(PodLifecycleTest, NeverEndsWithTheCodesOfTheApps) {
  for (const int code : {0, 1}) {
    Driver d(MakePod(RestartPolicy::kNever, {}, {"a", "b"}));
    d.Runs("a", 0);
    d.Runs("b", 0);
    d.Ends("a", 0, 1);
    d.Next(1);
    EXPECT_EQ(d.life.phase(), PodPhase::kRunning);
    d.Ends("b", code, 2);
    EXPECT_EQ(d.Next(2), "kill b/0");
    EXPECT_EQ(d.life.phase(), code == 0 ? PodPhase::kSucceeded : PodPhase::kFailed);
    EXPECT_EQ(d.View("b").reason, code == 0 ? "Completed" : "Error");
  }
}

TEST(PodLifecycleTest, FailedInitContainerEndsAPodThatNeverRestarts) {
  Driver d(MakePod(RestartPolicy::kNever, {Named("s", true), Named("i")}, {"a"}));
  d.Runs("s", 0);
  d.Ends("i", 2, 1);
  EXPECT_EQ(d.Next(1), "kill i/0, term s/0; wake 31");
  EXPECT_EQ(d.life.phase(), PodPhase::kPending) << "not over while the sidecar runs";
  EXPECT_FALSE(d.life.finished());
  d.Ends("s", 143, 2);
  EXPECT_EQ(d.Next(2), "kill s/0");
  EXPECT_EQ(d.life.phase(), PodPhase::kFailed);
  EXPECT_TRUE(d.life.finished());
}

TEST(PodLifecycleTest, FailedInitContainerIsRetriedOtherwise) {
  for (const RestartPolicy policy : {RestartPolicy::kAlways, RestartPolicy::kOnFailure}) {
    Driver d(MakePod(policy, {Named("i")}, {"a"}));
    d.Ends("i", 2, 1);
    EXPECT_EQ(d.Next(1), "kill i/0, start i/1");
    d.Ends("i", 2, 2, 1);
    EXPECT_EQ(d.Next(2), "kill i/1; wake 12");
    EXPECT_EQ(d.life.phase(), PodPhase::kPending);
    EXPECT_EQ(d.View("i").reason, "CrashLoopBackOff");
  }
}

TEST(PodLifecycleTest, SidecarsAreEndedInReverseOrderWhenTheAppsAreDone) {
  Driver d(MakePod(RestartPolicy::kNever, {Named("s1", true), Named("s2", true)}, {"a"}));
  d.Runs("s1", 0);
  d.Runs("s2", 0);
  d.Runs("a", 0);
  d.Ends("a", 0, 10);
  EXPECT_EQ(d.Next(10), "kill a/0, term s2/0; wake 40");
  EXPECT_EQ(d.life.phase(), PodPhase::kRunning);
  d.Ends("s2", 0, 11);
  EXPECT_EQ(d.Next(11), "kill s2/0, term s1/0; wake 40");
  d.Ends("s1", 143, 12);
  EXPECT_EQ(d.Next(12), "kill s1/0");
  EXPECT_EQ(d.life.phase(), PodPhase::kSucceeded);
}

TEST(PodLifecycleTest, TerminationIsTermThenKillAtTheDeadline) {
  Pod pod = MakePod(RestartPolicy::kAlways, {}, {"a", "b"});
  pod.termination_grace_s = 5;
  Driver d(pod);
  d.Runs("a", 0);
  d.Runs("b", 0);
  d.life.Terminate(At(100));
  EXPECT_EQ(d.Next(100), "term a/0, term b/0; wake 105");
  d.Ends("a", 0, 101);
  EXPECT_EQ(d.Next(101), "kill a/0; wake 105") << "no restart while terminating";
  EXPECT_EQ(d.Next(105), "kill b/0; wake 106");
  EXPECT_EQ(d.Next(105.5), "; wake 106");
  EXPECT_EQ(d.Next(106), "kill b/0; wake 107") << "again, until it is seen to have ended";
  d.Ends("b", 137, 106.2);
  EXPECT_EQ(d.Next(106.2), "kill b/0");
  EXPECT_TRUE(d.life.finished());
  EXPECT_EQ(d.life.phase(), PodPhase::kFailed);
}

TEST(PodLifecycleTest, WhatKillDoesNotEndIsNotReadyAndKilledMoreSeldomAfterTenSeconds) {
  Pod pod = MakePod(RestartPolicy::kAlways, {}, {"a"});
  pod.termination_grace_s = 5;
  Driver d(pod);
  d.Runs("a", 0);
  d.life.Terminate(At(100));
  d.Next(100);
  EXPECT_TRUE(d.View("a").ready) << "in its grace period";
  const auto version = d.life.version();
  d.Next(105);
  EXPECT_FALSE(d.View("a").ready);
  EXPECT_NE(d.life.version(), version);
  EXPECT_EQ(d.Next(114), "kill a/0; wake 115");
  EXPECT_EQ(d.Next(115), "kill a/0; wake 125");
  EXPECT_EQ(d.life.Next(At(125)).actions.front().killing, std::chrono::seconds(20));
}

TEST(PodLifecycleTest, SidecarsGetTheirTurnAtTheDeadlineAtTheLatest) {
  Pod pod = MakePod(RestartPolicy::kAlways, {Named("s", true)}, {"a"});
  pod.termination_grace_s = 10;
  Driver d(pod);
  d.Runs("s", 0);
  d.Runs("a", 0);
  d.life.Terminate(At(0));
  EXPECT_EQ(d.Next(0), "term a/0; wake 10");
  EXPECT_EQ(d.Next(10), "term s/0, kill a/0; wake 11");
  d.Ends("a", 137, 10);
  EXPECT_EQ(d.Next(10), "kill a/0; wake 12") << "two seconds to react, however late";
  EXPECT_EQ(d.Next(12), "kill s/0; wake 13");
}

TEST(PodLifecycleTest, ShortGraceStillLeavesTwoSeconds) {
  Pod pod = MakePod(RestartPolicy::kAlways, {}, {"a"});
  pod.termination_grace_s = 0;
  Driver d(pod);
  d.Runs("a", 0);
  d.life.Terminate(At(0));
  EXPECT_EQ(d.Next(0), "term a/0; wake 2");
  EXPECT_EQ(d.Next(2), "kill a/0; wake 3");
}

TEST(PodLifecycleTest, TerminatedTwiceTheFirstGraceCounts) {
  Pod pod = MakePod(RestartPolicy::kAlways, {}, {"a"});
  pod.termination_grace_s = 20;
  Driver d(pod);
  d.Runs("a", 0);
  d.life.Terminate(At(0));
  d.life.Terminate(At(1));
  EXPECT_EQ(d.Next(1), "term a/0; wake 20");
}

TEST(PodLifecycleTest, AnEndlessGraceIsCut) {
  Pod pod = MakePod(RestartPolicy::kAlways, {}, {"a"});
  pod.termination_grace_s = std::numeric_limits<std::int64_t>::max();
  Driver d(pod);
  d.Runs("a", 0);
  d.life.Terminate(At(0));
  EXPECT_EQ(d.Next(0), "term a/0; wake 1e+09");
}

TEST(PodLifecycleTest, TerminatedBeforeAnythingStartedIsFinishedAtOnce) {
  Driver d(MakePod(RestartPolicy::kAlways, {Named("i")}, {"a"}));
  d.life.Terminate(At(0));
  EXPECT_EQ(d.Next(0), "");
  EXPECT_TRUE(d.life.finished());
  EXPECT_EQ(d.life.phase(), PodPhase::kFailed);
}

TEST(PodLifecycleTest, StartErrorsAreRetriedEvenIfNothingElseWouldBe) {
  Driver d(MakePod(RestartPolicy::kNever, {}, {"a"}));
  EXPECT_EQ(d.Next(0), "start a/0");
  d.life.StartFailed("a", {Code::kExhausted, 0, "disk full"}, At(0));
  EXPECT_EQ(d.Next(0), "; wake 10");
  EXPECT_EQ(d.View("a").reason, "CreateContainerError");
  EXPECT_EQ(d.View("a").message, "disk full");
  EXPECT_EQ(d.life.phase(), PodPhase::kPending);
  EXPECT_EQ(d.Next(10), "start a/0");
  d.life.StartFailed("a", {Code::kIo, 0, "no such image"}, At(10), "ErrImagePull");
  EXPECT_EQ(d.View("a").reason, "ErrImagePull");
  EXPECT_EQ(d.View("a").last_end, "");
  EXPECT_EQ(d.Next(10), "; wake 30");
  EXPECT_EQ(d.Next(30), "start a/0");
  d.Runs("a", 30);
  EXPECT_EQ(d.Next(30), "");
  EXPECT_EQ(d.life.phase(), PodPhase::kRunning);
}

TEST(PodLifecycleTest, ProgramThatCannotBeExecutedIsAFailedContainer) {
  Driver d(MakePod(RestartPolicy::kNever, {}, {"a"}));
  ContainerStatus status = d.Status("a", 0, kStartErrorExitCode);
  status.message = "exec /bin/nope: No such file or directory";
  d.life.Observe(status, At(0));
  d.Next(0);
  EXPECT_EQ(d.life.phase(), PodPhase::kFailed);
  EXPECT_EQ(d.View("a").reason, "StartError");
  EXPECT_EQ(d.View("a").message, status.message);
}

TEST(PodLifecycleTest, ReasonsNameOomAndUnknownEnds) {
  Driver d(MakePod(RestartPolicy::kNever, {}, {"a", "b"}));
  ContainerStatus oom = d.Status("a", 0, 137);
  oom.oom_killed = true;
  d.life.Observe(oom, At(0));
  ContainerStatus unknown = d.Status("b", 0, {});
  unknown.state = ContainerState::kUnknown;
  d.life.Observe(unknown, At(0));
  EXPECT_EQ(d.Next(0), "kill a/0, kill b/0");
  EXPECT_EQ(d.View("a").reason, "OOMKilled");
  EXPECT_EQ(d.View("b").reason, "ContainerStatusUnknown");
  EXPECT_EQ(d.life.phase(), PodPhase::kFailed);
}

TEST(PodLifecycleTest, RecoveredPodGoesOnWhereItWas) {
  const os::WallTime wall = std::chrono::sys_days{std::chrono::year{2026} / 1 / 2} + std::chrono::hours(1);
  const Pod pod = MakePod(RestartPolicy::kAlways, {Named("i"), Named("s", true)}, {"a", "b"});
  Driver d(pod);
  d.life.Recover(d.Status("i", 0, 0), At(1000), wall);
  d.life.Recover(d.Status("s", 0, {}), At(1000), wall);
  ContainerStatus a = d.Status("a", 3, 1);
  a.started_at = "2026-01-02T00:59:00.000000Z";
  a.finished_at = "2026-01-02T00:59:40.000000Z";  // 20 s ago
  d.life.Recover(d.Status("a", 2, 1), At(1000), wall);
  d.life.Recover(a, At(1000), wall);
  d.life.Recover(d.Status("a", 1, 1), At(1000), wall);
  ContainerStatus b = d.Status("b", 5, {});
  b.started_at = "2026-01-02T00:00:00.000000Z";
  d.life.Recover(b, At(1000), wall);
  d.life.Recover(d.Status("stranger", 0, {}), At(1000), wall);
  EXPECT_EQ(d.Next(1000), "kill i/0, kill a/3; wake 1020") << "40 s of back-off, 20 of them are over";
  EXPECT_EQ(d.View("a").restarts, 3);
  d.Ends("b", 1, 1001, 5);
  EXPECT_EQ(d.Next(1001), "kill b/5, start b/6; wake 1020") << "it had run for an hour";
}

TEST(PodLifecycleTest, LostInitRecordsDoNotRepeatInitialisation) {
  Driver d(MakePod(RestartPolicy::kAlways, {Named("i"), Named("s", true)}, {"a"}));
  d.Runs("a", 0);
  EXPECT_EQ(d.Next(0), "start s/0") << "sidecars belong to the running pod";
}

TEST(PodLifecycleTest, AContainerThatSomebodyRestartsHasItsGracePeriodAndNoBackOff) {
  Driver d(MakePod(RestartPolicy::kOnFailure, {}, {"a", "b"}));
  d.Runs("a", 0);
  d.Runs("b", 0);
  const std::string id = d.View("a").last->id;
  EXPECT_TRUE(d.life.Restart(id, At(1)));
  EXPECT_FALSE(d.life.Restart(id, At(1))) << "it is under way";
  EXPECT_FALSE(d.life.Restart("other", At(1)));
  EXPECT_EQ(d.Next(1), "term a/0; wake 31");
  d.Ends("a", 0, 2);
  EXPECT_EQ(d.Next(2), "kill a/0, start a/1") << "though it ended as wanted, and had run for two seconds";
  d.Runs("a", 2, 1);
  EXPECT_EQ(d.Next(2), "");
  EXPECT_EQ(d.View("a").restarts, 1);
  d.Ends("a", 1, 3, 1);
  EXPECT_EQ(d.Next(3), "kill a/1, start a/2") << "the first end by itself, as if nobody had restarted it";
  d.Runs("a", 3, 2);
  d.Ends("a", 1, 4, 2);
  EXPECT_EQ(d.Next(4), "kill a/2; wake 14");
}

TEST(PodLifecycleTest, NobodyRestartsWhatWouldNotComeBack) {
  Driver d(MakePod(RestartPolicy::kNever, {}, {"a"}));
  d.Runs("a", 0);
  EXPECT_FALSE(d.life.Restart(d.View("a").last->id, At(1)));
  EXPECT_EQ(d.Next(1), "");
}

TEST(PodLifecycleTest, OldNewsAreIgnored) {
  Driver d(MakePod(RestartPolicy::kAlways, {}, {"a"}));
  d.Runs("a", 0, 2);
  d.Ends("a", 1, 1, 1);
  EXPECT_EQ(d.Next(1), "");
  EXPECT_EQ(d.View("a").restarts, 2);
}

// Whatever happens in whatever order: one container runs once, nothing starts while terminating, everything started is
// swept, and a terminated pod finishes.
// ---- probes, deadlines, rules of containers ----

Pod Probed(RestartPolicy policy, std::vector<Container> init = {}) {
  Pod pod = MakePod(policy, std::move(init), {"a"});
  pod.containers[0].readiness.emplace();
  pod.containers[0].liveness.emplace();
  return pod;
}

TEST(PodLifecycleTest, AContainerIsReadyWhenItsReadinessProbeSaysSo) {
  Driver d(Probed(RestartPolicy::kAlways));
  d.Runs("a", 0);
  EXPECT_TRUE(d.View("a").started);
  EXPECT_FALSE(d.View("a").ready) << "before the first success";
  d.life.SetReady("a#0", true);
  EXPECT_TRUE(d.View("a").ready);
  d.life.SetReady("a#0", false);
  EXPECT_FALSE(d.View("a").ready);
  d.life.SetReady("a#0", true);
  d.Ends("a", 0, 1);
  EXPECT_FALSE(d.View("a").ready);
  d.Next(1);
  d.Runs("a", 2, 1);
  EXPECT_FALSE(d.View("a").ready) << "another attempt begins anew";
}

TEST(PodLifecycleTest, AContainerWithoutProbesIsReadyWhileItRuns) {
  Driver d(MakePod(RestartPolicy::kAlways, {Named("i"), Named("s", true)}, {"a"}));
  EXPECT_FALSE(d.View("a").ready);
  d.Runs("i", 0);
  EXPECT_FALSE(d.View("i").ready);
  d.Ends("i", 0, 1);
  EXPECT_TRUE(d.View("i").ready) << "done";
  d.Runs("s", 1);
  EXPECT_TRUE(d.View("s").ready);
  d.Runs("a", 1);
  EXPECT_TRUE(d.View("a").ready);
}

TEST(PodLifecycleTest, ASidecarWithAStartupProbeHoldsBackWhatFollows) {
  Container sidecar = Named("s", true);
  sidecar.startup.emplace();
  Driver d(MakePod(RestartPolicy::kAlways, {sidecar, Named("i")}, {"a"}));
  EXPECT_EQ(d.Next(0), "start s/0");
  d.Runs("s", 0);
  EXPECT_EQ(d.Next(0), "");
  EXPECT_FALSE(d.View("s").started);
  EXPECT_FALSE(d.View("s").ready);
  d.life.SetStarted("s#0");
  EXPECT_EQ(d.Next(1), "start i/0");
}

TEST(PodLifecycleTest, WhatAProbeEndsGetsItsGraceAndIsStartedAgain) {
  for (const RestartPolicy policy : {RestartPolicy::kAlways, RestartPolicy::kOnFailure}) {
    Driver d(Probed(policy));
    d.Runs("a", 0);
    EXPECT_TRUE(d.life.RestartsUnhealthy("a#0"));
    EXPECT_TRUE(d.life.EndUnhealthy("a#0", At(10), seconds(5)));
    EXPECT_FALSE(d.life.EndUnhealthy("a#0", At(10), seconds(5))) << "once is enough";
    EXPECT_EQ(d.life.GraceLeft("a", At(10)), seconds(5));
    const Steps steps = d.life.Next(At(10));
    ASSERT_EQ(steps.actions.size(), 1U);
    EXPECT_EQ(steps.actions[0].kind, Action::Kind::kTerm);
    EXPECT_TRUE(steps.actions[0].unhealthy);
    EXPECT_FALSE(d.life.ending());
    EXPECT_EQ(d.Next(14), "; wake 15");
    EXPECT_EQ(d.Next(15), "kill a/0; wake 16");
    d.Ends("a", 0, 15);
    EXPECT_EQ(d.Next(15), "kill a/0, start a/1") << "whatever its exit code";
  }
}

TEST(PodLifecycleTest, WhatAProbeEndsStaysEndedWhereNothingIsRestarted) {
  Driver d(Probed(RestartPolicy::kNever));
  d.Runs("a", 0);
  EXPECT_FALSE(d.life.RestartsUnhealthy("a#0"));
  EXPECT_TRUE(d.life.EndUnhealthy("a#0", At(1), seconds(30)));
  EXPECT_EQ(d.Next(1), "term a/0; wake 31");
  d.Ends("a", 137, 2);
  EXPECT_EQ(d.Next(2), "kill a/0");
  EXPECT_TRUE(d.life.finished());
  EXPECT_EQ(d.life.phase(), PodPhase::kFailed);
}

TEST(PodLifecycleTest, APodThatGoesTakesWhatAProbeEndsWithIt) {
  Driver d(Probed(RestartPolicy::kAlways));
  d.Runs("a", 0);
  d.life.EndUnhealthy("a#0", At(0), seconds(100));
  EXPECT_EQ(d.Next(0), "term a/0; wake 100");
  d.life.Terminate(At(1), seconds(9));
  EXPECT_FALSE(d.life.EndUnhealthy("a#0", At(1), seconds(1)));
  EXPECT_EQ(d.Next(1), "; wake 10") << "no second TERM";
  EXPECT_EQ(d.Next(10), "kill a/0; wake 11");
}

Container Hooked(std::string name) {
  Container container = Named(std::move(name));
  container.post_start_exec = {"/bin/warm"};
  container.pre_stop_sleep_s = 5;
  return container;
}

TEST(PodLifecycleTest, WhileAPostStartHookRunsItsContainerIsNotReadyAndNothingElseStarts) {
  Pod pod = MakePod(RestartPolicy::kAlways, {}, {"b"});
  pod.containers.insert(pod.containers.begin(), Hooked("a"));
  Driver d(pod);
  EXPECT_EQ(d.Next(0), "start a/0");
  ContainerStatus creating = d.Status("a", 0, {});
  creating.state = ContainerState::kCreating;
  d.life.Observe(creating, At(0));
  EXPECT_EQ(d.Next(0), "");
  d.Runs("a", 1);
  EXPECT_EQ(d.Next(1), "");
  EXPECT_EQ(d.life.WaitForPostStart(), (std::vector<std::pair<std::string, std::string>>{{"a", Driver::Id("a", 0)}}));
  EXPECT_FALSE(d.View("a").ready || d.View("a").started);
  EXPECT_TRUE(d.View("a").in_post_start);
  d.life.SetPostStarted(Driver::Id("a", 0));
  EXPECT_TRUE(d.View("a").ready && d.View("a").started && d.life.WaitForPostStart().empty());
  EXPECT_EQ(d.Next(2), "start b/0");
}

TEST(PodLifecycleTest, APreStopHookMayTakeAllTheGraceAndTermStillHasTwoSeconds) {
  Pod pod = MakePod(RestartPolicy::kAlways, {}, {});
  pod.containers.push_back(Hooked("a"));
  pod.termination_grace_s = 10;
  Driver d(pod);
  d.Next(0);
  d.Runs("a", 0);
  d.life.SetPostStarted(Driver::Id("a", 0));
  d.life.Terminate(At(0));
  EXPECT_EQ(d.Next(0), "term a/0; wake 12");
  Driver late = d;
  d.life.Asked(Driver::Id("a", 0), At(5));
  EXPECT_EQ(d.Next(5), "; wake 10") << "with what is left of the grace period";
  late.life.Asked(Driver::Id("a", 0), At(10));
  EXPECT_EQ(late.Next(10), "; wake 12");
  EXPECT_EQ(late.Next(12), "kill a/0; wake 13");
}

TEST(PodLifecycleTest, HooksThatWereNotOverAreRunAgainAfterARestart) {
  Pod pod = MakePod(RestartPolicy::kAlways, {}, {});
  pod.containers.push_back(Hooked("a"));
  Driver before(pod);
  before.Next(0);
  const LifecycleTimes never_ran = before.life.Times();
  before.Runs("a", 0);
  const auto after = [&](const LifecycleTimes& times) {
    Driver out(pod);
    out.life.Recover(out.Status("a", 0, {}), At(1), os::WallTime());
    out.life.Restore(times);
    return out;
  };
  EXPECT_EQ(after(before.life.Times()).life.WaitForPostStart().size(), 1U);
  EXPECT_EQ(after(never_ran).life.WaitForPostStart().size(), 1U) << "started, and berthd was killed at once";
  EXPECT_TRUE(after({}).life.WaitForPostStart().empty()) << "nothing is known of it";
  Pod unread = pod;  // as a ledger knows it
  unread.containers[0] = Named("a");
  Driver watched(unread);
  watched.life.Recover(watched.Status("a", 0, {}), At(1), os::WallTime());
  watched.life.Restore(before.life.Times());
  EXPECT_FALSE(watched.View("a").ready);
  before.life.SetPostStarted(Driver::Id("a", 0));
  EXPECT_TRUE(after(before.life.Times()).life.WaitForPostStart().empty());
  before.life.Terminate(At(1));
  before.Next(1);
  EXPECT_FALSE(after(before.life.Times()).life.Next(At(2)).actions.at(0).asked);
  before.life.Asked(Driver::Id("a", 0), At(2));
  EXPECT_TRUE(after(before.life.Times()).life.Next(At(3)).actions.at(0).asked);
}

TEST(PodLifecycleTest, WhatProbesSaidOutlivesARestart) {
  Pod pod = Probed(RestartPolicy::kAlways);
  pod.containers[0].startup.emplace();
  Driver before(pod);
  before.Runs("a", 0);
  before.life.SetStarted("a#0");
  before.life.SetReady("a#0", true);
  Driver d(pod);
  d.life.Recover(before.Status("a", 0, {}), At(5), os::WallTime());
  EXPECT_FALSE(d.View("a").started);
  d.life.Restore(before.life.Times());
  EXPECT_TRUE(d.View("a").started);
  EXPECT_TRUE(d.View("a").ready);
  before.life.EndUnhealthy("a#0", At(6), seconds(4));
  before.Next(6);
  Driver later(pod);
  later.life.Recover(before.Status("a", 0, {}), At(8), os::WallTime());
  later.life.Restore(before.life.Times());
  EXPECT_EQ(later.Next(8), "term a/0; wake 10") << "told again to whoever may have forgotten";
  EXPECT_EQ(later.Next(10), "kill a/0; wake 11");
}

TEST(PodLifecycleTest, APodThatIsActiveForTooLongHasFailed) {
  Pod pod = MakePod(RestartPolicy::kAlways, {}, {"a"});
  pod.active_deadline_s = 60;
  pod.termination_grace_s = 5;
  Driver d(pod);
  EXPECT_EQ(d.Next(100), "start a/0; wake 160");
  d.Runs("a", 101);
  EXPECT_EQ(d.Next(159), "; wake 160");
  Driver next(pod);
  next.life.Recover(d.Status("a", 0, {}), At(159), os::WallTime());
  next.life.Restore(d.life.Times());
  EXPECT_EQ(next.Next(160), "term a/0; wake 165") << "the clock goes on over a restart";
  EXPECT_TRUE(next.life.overdue());
  next.Ends("a", 0, 161);
  EXPECT_EQ(next.Next(161), "kill a/0");
  EXPECT_EQ(next.life.phase(), PodPhase::kFailed) << "whatever the exit code";
}

TEST(PodLifecycleTest, AContainersOwnRulesComeBeforeItsPolicyAndThatBeforeThePods) {
  Pod pod = MakePod(RestartPolicy::kAlways, {}, {"a"});
  pod.containers[0].restart_policy = RestartPolicy::kNever;
  pod.containers[0].restart_rules = {{.in = true, .exit_codes = {42, 43}}};
  Driver d(pod);
  d.Runs("a", 0);
  d.Ends("a", 42, 1);
  EXPECT_EQ(d.Next(1), "kill a/0, start a/1");
  d.Runs("a", 1, 1);
  d.Ends("a", 1, 2, 1);
  EXPECT_EQ(d.Next(2), "kill a/1");
  EXPECT_TRUE(d.life.finished());

  pod.containers[0].restart_rules = {{.in = false, .exit_codes = {0}}};
  Driver other(pod);
  other.Runs("a", 0);
  other.Ends("a", 7, 1);
  EXPECT_EQ(other.Next(1), "kill a/0, start a/1");
  other.Runs("a", 1, 1);
  other.Ends("a", 0, 2, 1);
  EXPECT_EQ(other.Next(2), "kill a/1");
}

TEST(PodLifecycleTest, RandomLivesKeepThePromises) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::vector<Container> init;
    for (std::size_t i = random() % 4; i > 0; --i) init.push_back(Named("i" + std::to_string(i), random() % 2 == 0));
    Pod pod = MakePod(static_cast<RestartPolicy>(random() % 3), init, {"a", "b"});
    pod.termination_grace_s = static_cast<std::int64_t>(random() % 40);
    Driver d(pod);
    std::map<std::string, int> running;
    double now = 0;
    const double terminate_at = static_cast<double>(random() % 2000);
    bool terminating = false;
    for (int step = 0; step < 3000 && !d.life.finished(); ++step) {
      if (!terminating && now >= terminate_at) d.life.Terminate(At(now)), terminating = true;
      const Steps steps = d.life.Next(At(now));
      for (const Action& action : steps.actions) {
        if (action.kind == Action::Kind::kStart) {
          ASSERT_FALSE(terminating);
          ASSERT_FALSE(running.contains(action.container)) << action.container;
          if (random() % 8 == 0) {
            d.life.StartFailed(action.container, {Code::kIo, 0, "x"}, At(now));
          } else if (random() % 8 == 0) {
            d.Ends(action.container, static_cast<int>(random() % 2), now, action.attempt);
          } else {
            running[action.container] = action.attempt;
            d.Runs(action.container, now, action.attempt);
          }
        } else if (running.contains(action.container) && (action.kind == Action::Kind::kKill || random() % 2 == 0)) {
          ASSERT_EQ(running[action.container], action.attempt);
          d.Ends(action.container, 137, now, action.attempt);
          running.erase(action.container);
        }
      }
      if (!running.empty() && random() % 3 == 0) {
        const auto it = std::next(running.begin(), static_cast<std::ptrdiff_t>(random() % running.size()));
        d.Ends(it->first, static_cast<int>(random() % 2), now, it->second);
        running.erase(it);
      }
      now += static_cast<double>(random() % 20);
    }
    ASSERT_TRUE(d.life.finished());
    ASSERT_TRUE(running.empty());
    ASSERT_TRUE(d.life.phase() == PodPhase::kSucceeded || d.life.phase() == PodPhase::kFailed);
    ASSERT_TRUE(d.life.Next(At(now)).actions.empty());
  }
}

}  // namespace
}  // namespace berth::runtime
