// How pods end on this host, whatever happens to berthd and its supervisors meanwhile, and whatever a container does
// against it.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon_fixture.h"

namespace berth::testkit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kOwnCpu = "    resources: {limits: {cpu: \"1\", memory: 32Mi}}\n";

/// One container that runs `script` in /bin/sh, on a CPU of its own or with other `resources`. `more`: of the
/// container.
std::string ScriptPod(const std::string& name, const std::string& script, int grace_s, const std::string& more,
                      const std::string& resources = kOwnCpu) {
  return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
         "}\nspec:\n  terminationGracePeriodSeconds: " + std::to_string(grace_s) +
         "\n  containers:\n  - name: app\n    image: none\n"
         "    command: [\"/bin/sh\", \"-c\"]\n    args:\n    - |\n      " +
         script + "\n" + resources + more;
}

int ParentOf(int pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("PPid:")) return std::stoi(line.substr(5));
  return -1;
}

/// May leave every group it is in.
constexpr const char* kPrivileged = "    securityContext: {privileged: true}\n";
/// Does so.
constexpr const char* kEscape =
    "for t in /sys/fs/cgroup/*/tasks /sys/fs/cgroup/cgroup.procs; do if [ -w $t ]; then echo 0 > $t; fi; done; ";

struct DaemonEndingTest : testing::Test {
  void SetUp() override {
    if (const auto why = DaemonFixture::WhyNot()) GTEST_SKIP() << *why;
    if (::sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "needs two CPUs";
  }
  std::string LinesOf(const std::string& file) const {
    std::ifstream in(node.Dir(file));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// Runs one pod and returns its main process.
  int Run(const std::string& name, const std::string& script, int grace_s, const std::string& more = "") {
    node.AddPod(name + ".yaml", ScriptPod(name, script, grace_s, more));
    node.Start(arguments);
    node.Until(name + " runs", [&] { return node.Runs(name) && !LinesOf("ready").empty(); });
    return node.Pids().begin()->second;
  }
  /// `berth state verify`: its status, and what it says.
  int Verify(std::string& said) const {
    const std::string berthd = BERTHD;
    FILE* const out = ::popen(
        (berthd.substr(0, berthd.size() - 1) + " state verify --socket " + node.socket() + " 2>&1").c_str(), "r");
    std::array<char, 4096> chunk;
    while (std::fgets(chunk.data(), chunk.size(), out) != nullptr) said += chunk.data();
    return ::pclose(out);
  }
  /// Processes that left their groups are looked for so often; before Start.
  void LookEvery(const std::string& period) {
    std::ofstream(node.Dir("berth.yaml"))
        << "apiVersion: berth.dev/v1alpha1\nkind: BerthConfiguration\nreconcilePeriod: " << period << "\n";
    arguments = {"--config", node.Dir("berth.yaml"), "--socket", node.socket()};
  }
  /// Up to now they were not, so that the test has seen them where they went.
  void LookFromNowOn() {
    node.Kill();
    LookEvery("1s");
    node.Start(arguments);
  }
  std::string Ready() const { return "echo > " + node.Dir("ready") + "; "; }
  /// For a script: berthd with a simulated machine has threads, as many a program has.
  std::string ExecThreads() const {
    const std::string own = node.Dir("inside");
    return "mkdir -p " + own + "; exec " + BERTHD + " --machine 'pack:1 core:2 pu:1' --state-dir " + own +
           "/state --run-dir " + own + "/run --log-dir " + own + "/log --pod-dir " + own + "/pods --socket " + own +
           "/socket";
  }
  /// v1 puts each thread where its `tasks` says; v2 keeps those of a process together.
  static bool ThreadsMayLeave() { return std::filesystem::exists("/sys/fs/cgroup/cpuset/tasks"); }
  /// v2.
  void ExpectThreadCannotLeave(int thread) const {
    std::ofstream out(node.GroupFile("cpuset", "berth", "cgroup.threads"));
    ASSERT_TRUE(out);
    out << thread << std::flush;
    EXPECT_FALSE(out);
  }
  /// Moves a thread of this process, which is not its first, to the top of the cpusets (v1). Its id; 0: there is none,
  /// and the test has failed.
  int MoveThreadOut(int pid) {
    int thread = 0;
    const bool has_threads = node.Until("it has threads", [&] {
      for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task"))
        if (const int id = std::stoi(entry.path().filename()); id != pid) thread = id;
      return thread != 0 && std::filesystem::exists(node.Dir("inside/socket"));
    });
    EXPECT_TRUE(has_threads);
    if (!has_threads) return 0;  // it would name the thread that writes it
    std::ofstream out("/sys/fs/cgroup/cpuset/tasks");
    out << thread << std::flush;
    EXPECT_TRUE(out);
    return thread;
  }

  /// `name`: of the thread, as it is told.
  void ExpectToldToBeAway(const std::string& name) {
    std::string verified;
    EXPECT_NE(Verify(verified), 0);
    EXPECT_NE(verified.find(name), std::string::npos) << verified;
    EXPECT_TRUE(
        node.Until("the tree shows it", [&] { return node.Get("/v1/tree").dump().find(name) != std::string::npos; }));
  }

  /// The container has been started anew, with the exit code of its end known.
  void ExpectKilledAndRestarted(const std::string& name, int pid) {
    ASSERT_TRUE(node.Until("it runs again", [&] {
      const std::map<std::string, int> pids = node.Pids();
      return pids.size() == 1 && pids.begin()->second != pid && node.PodNamed(name)["containers"][0]["restarts"] == 1;
    }));
    EXPECT_EQ(node.CountEvents("ContainerDied", "exit code 137"), 1) << node.Get("/v1/events").dump(1);
  }

  DaemonFixture node;
  std::vector<std::string> arguments;  // of berthd
};

TEST_F(DaemonEndingTest, AGracePeriodGoesOnWhileBerthdIsKilledAndStartedAgain) {
  const std::string script =
      "trap 'echo term >> " + node.Dir("terms") + "' TERM; " + Ready() + "while :; do sleep 0.1; done";
  constexpr std::chrono::seconds kGrace{6};
  const int pid = Run("patient", script, kGrace.count());
  const Clock::time_point begin = Clock::now();
  node.RemovePod("patient.yaml");
  ASSERT_TRUE(node.Until("it got TERM, and the next berthd knows",
                         [&] { return !LinesOf("terms").empty() && node.CountEvents("Killing") > 0; }));
  for (int restart = 0; restart < 3; ++restart) {
    node.Kill();
    node.Start();
  }
  EXPECT_TRUE(Lives(pid) || Clock::now() - begin >= kGrace);
  ASSERT_TRUE(node.Until("it was killed", [&] { return !Lives(pid); }));
  EXPECT_GE(Clock::now() - begin, kGrace);
  EXPECT_EQ(LinesOf("terms"), "term\n") << "TERM is sent once";
  EXPECT_TRUE(node.Until("it is gone", [&] { return node.Get("/v1/pods").empty() || !node.Runs("patient"); }));
}

TEST_F(DaemonEndingTest, AnOrdinaryContainerCannotLeaveItsGroupsWhateverRootTries) {
  const std::string tries =
      "for t in /sys/fs/cgroup/*/tasks /sys/fs/cgroup/cgroup.procs; do [ -e $t ] && echo 0 > $t; "
      "mount -o remount,rw,bind ${t%/*}; echo 0 > $t; done; unshare -Urm sh -c 'mount -t cgroup -o "
      "cpuset c /mnt && echo in'; ls /proc/1/root/; ";
  const int pid =
      Run("tame", "exec 2> " + node.Dir("said") + "; " + tries + Ready() + "while :; do sleep 0.1; done", 1);
  const std::string said = LinesOf("said");
  EXPECT_NE(said.find("Read-only file system"), std::string::npos) << said;
  EXPECT_NE(said.find("/proc/1/root/': Permission denied"), std::string::npos) << said;
  std::string verified;
  EXPECT_EQ(Verify(verified), 0) << verified;
  std::ifstream in("/proc/" + std::to_string(pid) + "/status");
  const std::string status{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(status.find("Cpus_allowed_list:\t1\n"), std::string::npos) << status;
}

TEST_F(DaemonEndingTest, AProcessThatLeftItsGroupsIsMovedBack) {
  LookEvery("1h");
  const int pid = Run("runaway", kEscape + Ready() + "while :; do sleep 0.1; done", 1, kPrivileged);
  std::string verified;
  EXPECT_NE(Verify(verified), 0);
  EXPECT_NE(verified.find("process " + std::to_string(pid) + " (sh) of "), std::string::npos) << verified;
  EXPECT_TRUE(node.Until("the tree shows it",
                         [&] { return node.Get("/v1/tree").dump().find("is in the cpuset /") != std::string::npos; }));
  LookFromNowOn();
  EXPECT_TRUE(node.Until("it is moved back", [&] { return node.CountEvents("StrayProcess", "moved back") > 0; }));
  std::ifstream in("/proc/" + std::to_string(pid) + "/status");
  const std::string status{std::istreambuf_iterator<char>(in), {}};
  std::string after;
  EXPECT_TRUE(node.Until("what it had started outside has ended", [&] {
    after.clear();
    return Verify(after) == 0;
  })) << after;
  EXPECT_NE(status.find("Cpus_allowed_list:\t1\n"), std::string::npos) << status;
}

TEST_F(DaemonEndingTest, AThreadThatLeftItsProcessIsMovedBack) {
  if (!ThreadsMayLeave()) {
    node.Start();
    return std::thread([this] { ExpectThreadCannotLeave(::gettid()); }).join();
  }
  LookEvery("1h");
  const int pid = Run("several", Ready() + ExecThreads(), 1);
  const int thread = MoveThreadOut(pid);
  ASSERT_FALSE(HasFailure()) << "it said " << node.Get("/v1/logs/default/several/app").dump(1);
  const std::string name = "thread " + std::to_string(thread) + " of process " + std::to_string(pid) + " (berthd)";
  ExpectToldToBeAway(name);
  LookFromNowOn();
  EXPECT_TRUE(node.Until("it is moved back", [&] { return node.CountEvents("StrayProcess", "moved back") > 0; }));
  EXPECT_EQ(node.CountEvents("StrayProcess", name), 1) << node.Get("/v1/events").dump(1);
  std::ifstream in("/proc/" + std::to_string(pid) + "/task/" + std::to_string(thread) + "/status");
  const std::string status{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(status.find("Cpus_allowed_list:\t1\n"), std::string::npos) << status;
  std::string after;
  EXPECT_EQ(Verify(after), 0) << after;
  EXPECT_EQ(node.Pids().begin()->second, pid) << "its process went on";
}

/// It could run on CPUs that another one has for itself.
TEST_F(DaemonEndingTest, AThreadOfASharedContainerIsMovedBackWhileAnotherHasCpusOfItsOwn) {
  const std::string goes_on = "while :; do sleep 0.1; done";
  node.AddPod("sharing.yaml", ScriptPod("sharing", ThreadsMayLeave() ? ExecThreads() : goes_on, 1, "", ""));
  LookEvery("1h");
  Run("alone", Ready() + goes_on, 1);
  ASSERT_TRUE(node.Until("the other runs", [&] { return node.Runs("sharing"); }));
  const int pid = node.Pids().at("sharing-n1/app");
  if (!ThreadsMayLeave()) return ExpectThreadCannotLeave(pid);
  const int thread = MoveThreadOut(pid);
  ASSERT_FALSE(HasFailure()) << "it said " << node.Get("/v1/logs/default/sharing/app").dump(1);
  const std::string name = "thread " + std::to_string(thread) + " of process " + std::to_string(pid) + " (berthd)";
  ExpectToldToBeAway(name);
  LookFromNowOn();
  EXPECT_TRUE(node.Until("it is moved back", [&] { return node.CountEvents("StrayProcess", name) == 1; }));
  std::string after;
  EXPECT_EQ(Verify(after), 0) << after;
}

TEST_F(DaemonEndingTest, AProcessThatRemovedTheGroupsItLeftIsMovedBackIntoNewOnes) {
  LookEvery("1s");
  const std::string script = "p=$(sed -n 's#^[^:]*:[^:]*:\\(.*pod.*\\)$#\\1#p' /proc/self/cgroup | head -n 1); " +
                             std::string(kEscape) + "rmdir /sys/fs/cgroup/*$p /sys/fs/cgroup$p; " + Ready() +
                             "while :; do sleep 0.1; done";
  const int pid = Run("runaway", script, 1, kPrivileged);
  EXPECT_TRUE(node.Until("it is moved back", [&] { return node.CountEvents("StrayProcess", "was made again") > 0; }));
  std::ifstream in("/proc/" + std::to_string(pid) + "/status");
  const std::string status{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(status.find("Cpus_allowed_list:\t1\n"), std::string::npos) << status;
  std::string after;
  EXPECT_TRUE(node.Until("all its values are there, and what it had started outside has ended", [&] {
    after.clear();
    return Verify(after) == 0;
  })) << after;
  EXPECT_TRUE(node.Until("the tree is right", [&] {
    const codec::Json tree = node.Get("/v1/tree");  // outlives the loop over a part of it
    for (const codec::Json& group : tree["groups"])
      if (!group.value("problem", "").empty()) return false;
    return true;
  }));
  EXPECT_TRUE(Lives(pid));
  node.RemovePod("runaway.yaml");
  EXPECT_TRUE(node.Until("the pod is gone", [&] { return node.PodNamed("runaway").is_null() && !Lives(pid); }));
  EXPECT_TRUE(node.Until("nothing is left", [&] { return node.Leftovers().empty(); }));
}

TEST_F(DaemonEndingTest, AStoppedSupervisorIsToldToGoOnWhenItsContainerHasEnded) {
  const int pid = Run("own", Ready() + "while :; do sleep 0.1; done", 1);
  ASSERT_EQ(::kill(ParentOf(pid), SIGSTOP), 0);
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  ExpectKilledAndRestarted("own", pid);
  EXPECT_EQ(node.CountEvents("SupervisorStopped"), 1);
}

TEST_F(DaemonEndingTest, ASupervisorThatWasStoppedBeforeBerthdWasStartedAgainIsNoticed) {
  const int pid = Run("own", Ready() + "while :; do sleep 0.1; done", 1);
  node.Kill();
  ASSERT_EQ(::kill(ParentOf(pid), SIGSTOP), 0);
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  node.Start();
  ExpectKilledAndRestarted("own", pid);
}

TEST_F(DaemonEndingTest, ASupervisorThatCannotGoOnIsDoneWithout) {
  const int pid = Run("own", Ready() + "while :; do sleep 0.1; done", 1);
  const int shim = ParentOf(pid);
  ASSERT_EQ(::ptrace(PTRACE_SEIZE, shim, nullptr, nullptr), 0);  // SIGCONT does not end this stop
  ASSERT_EQ(::ptrace(PTRACE_INTERRUPT, shim, nullptr, nullptr), 0);
  ASSERT_EQ(::waitpid(shim, nullptr, __WALL), shim);
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  ExpectKilledAndRestarted("own", pid);
  EXPECT_EQ(node.CountEvents("SupervisorReplaced"), 1);
  while (::waitpid(shim, nullptr, __WALL | WNOHANG) == 0) ::usleep(10'000);
}

TEST_F(DaemonEndingTest, AProcessThatLeftItsGroupsDiesWithItsPodAndSoDoesWhatItStarted) {
  const std::string daemon = node.Dir("daemon.sh");
  std::ofstream(daemon) << kEscape << "trap '' TERM; echo $$ > " << node.Dir("daemon")
                        << "; while :; do sleep 0.1; done\n";
  const int pid = Run("runaway",
                      std::string(kEscape) + "trap '' TERM; setsid sh " + daemon + " & sleep 0.3; " + Ready() +
                          "while :; do sleep 0.1; done",
                      1, kPrivileged);
  ASSERT_TRUE(node.Until("its daemon runs", [&] { return !LinesOf("daemon").empty(); }));
  const int daemon_pid = std::stoi(LinesOf("daemon"));
  ASSERT_TRUE(Lives(daemon_pid));
  node.Kill();  // the next one knows it too
  node.Start();
  EXPECT_TRUE(node.Until("it is known", [&] { return node.Runs("runaway"); }));
  EXPECT_TRUE(Lives(pid));
  node.RemovePod("runaway.yaml");
  EXPECT_TRUE(node.Until("both are gone", [&] { return !Lives(pid) && !Lives(daemon_pid); }));
  EXPECT_TRUE(node.Until("the pod is gone", [&] { return node.PodNamed("runaway").is_null(); }));
  ::kill(pid, SIGKILL);
  ::kill(daemon_pid, SIGKILL);
}

}  // namespace
}  // namespace berth::testkit
