// The process runtime with real processes in this host's cgroups.
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fstream>

#include "base/text.h"
#include "host/os/process.h"
#include "runtime_fixture.h"

namespace berth::runtime {
namespace {

std::size_t CountEntries(const std::string& dir) {
  const Result<std::unique_ptr<os::Fs>> fs = os::OpenFs(dir);
  if (!fs) return 0;
  const Result<std::vector<std::string>> names = (*fs)->List("");
  return names ? names->size() : 0;
}

TEST_F(RuntimeTest, ProcessIsPinnedAtItsFirstInstruction) {
  if (!cgroup_) GTEST_SKIP() << "this host has no cpuset controller";
  // An affinity inherited from the daemon must not matter.
  cpu_set_t before;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  cpu_set_t last;
  CPU_ZERO(&last);
  CPU_SET(CPU_COUNT(&before) - 1, &last);
  ASSERT_EQ(::sched_setaffinity(0, sizeof last, &last), 0);
  const StartRequest request = Request({"/bin/grep", "Cpus_allowed_list", "/proc/self/status"});
  const ContainerStatus status = Run(request);
  EXPECT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(status.exit_code, 0) << status.message;
  EXPECT_EQ(Output(request), "Cpus_allowed_list:\t0\n");
}

TEST_F(RuntimeTest, OnlyPrivilegedContainersCanWriteCgroups) {
  if (!cgroup_) GTEST_SKIP() << "this host has no cpuset controller";
  StartRequest request = Request({"/bin/sh", "-c", "echo 0 > " + cgroup_->dir() + "/cgroup.procs"});
  const ContainerStatus ordinary = Run(request);
  EXPECT_NE(ordinary.exit_code, 0);
  EXPECT_EQ(ordinary.warnings, std::vector<std::string>());
  EXPECT_NE(Output(request, "stderr").find("Read-only file system"), std::string::npos) << Output(request, "stderr");
  request.container.security.add_capabilities = {"SYS_PTRACE"};
  EXPECT_NE(Run(request).exit_code, 0);
  request.container.security.add_capabilities = {"NET_ADMIN", "SYS_ADMIN"};
  EXPECT_EQ(Run(request).exit_code, 0);
  request.container.security = {.privileged = true};
  EXPECT_EQ(Run(request).exit_code, 0);
}

TEST_F(RuntimeTest, WideningTheCpusetWidensARunningProcess) {
  if (!cgroup_) GTEST_SKIP() << "this host has no cpuset controller";
  const Result<ContainerStatus> status = Start(Request({"/bin/sleep", "600"}));
  ASSERT_TRUE(status) << status.error().message;
  const std::string all = cgroup_->AllCpus();
  cgroup_->Write("cpuset.cpus", all);
  const std::string proc = testkit::ReadText("/proc/" + std::to_string(status->pid) + "/status");
  EXPECT_NE(proc.find("Cpus_allowed_list:\t" + all + "\n"), std::string::npos) << proc;
}

TEST_F(RuntimeTest, ExitCodesAndSignalsAreReported) {
  EXPECT_EQ(Run(Request({"/bin/true"})).exit_code, 0);
  const ContainerStatus seven = Run(Request({"/bin/sh", "-c", "exit 7"}));
  EXPECT_EQ(seven.state, ContainerState::kExited);
  EXPECT_EQ(seven.exit_code, 7);
  EXPECT_EQ(seven.signal, std::nullopt);
  EXPECT_FALSE(seven.oom_killed);
  EXPECT_LT(seven.started_at, seven.finished_at);
  const ContainerStatus killed = Run(Request({"/bin/sh", "-c", "kill -9 $$"}));
  EXPECT_EQ(killed.exit_code, 137);
  EXPECT_EQ(killed.signal, SIGKILL);
}

TEST_F(RuntimeTest, SignalReachesTheMainProcessOnly) {
  const StartRequest request =
      Request({"/bin/sh", "-c", "trap 'echo got it; exit 3' TERM; echo ready; while :; do sleep 0.05; done"});
  const Result<ContainerStatus> status = Start(request);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->state, ContainerState::kRunning);
  for (int i = 0; i < kPatienceMs && Output(request) != "ready\n"; ++i) ::poll(nullptr, 0, 1);
  EXPECT_TRUE(runtime_->Signal(status->id, SIGTERM));
  EXPECT_EQ(WaitEnd(status->id).exit_code, 3);
  EXPECT_EQ(Output(request), "ready\ngot it\n");
  EXPECT_TRUE(runtime_->Signal(status->id, SIGTERM)) << "gone is success";
  EXPECT_EQ(runtime_->Signal("nobody", SIGTERM).error().code, Code::kNotFound);
}

TEST_F(RuntimeTest, WhatTheContainerGotWrongIsAnExitWithAMessage) {
  const std::string plain = temp_ / "plain";
  std::ofstream(plain) << "no program\n";
  const std::string orphan = temp_ / "orphan";
  std::ofstream(orphan) << "#!/bin/nope\n";
  ASSERT_EQ(::chmod(orphan.c_str(), 0755), 0);
  const std::string garbage = temp_ / "garbage";
  std::ofstream(garbage) << "garbage\n";
  ASSERT_EQ(::chmod(garbage.c_str(), 0755), 0);
  StartRequest no_dir = Request({"/bin/true"});
  no_dir.container.working_dir = "/nope";
  StartRequest no_path = Request({"nope"});
  no_path.env = {{"PATH", "/bin:/opt"}};
  const std::vector<std::pair<StartRequest, std::string>> cases = {
      {Request({"/bin/nope"}), "exec /bin/nope: No such file or directory"},
      {no_path, "exec nope: No such file or directory (searched /bin:/opt)"},
      {Request({plain}), "exec " + plain + ": Permission denied"},
      {Request({orphan}), "exec " + orphan + ": No such file or directory (it exists: its interpreter does not)"},
      {Request({garbage}), "exec " + garbage + ": Exec format error"},
      {Request({"/tmp"}), "exec /tmp: Permission denied"},
      {no_dir, "change to working directory /nope: No such file or directory"},
  };
  for (const auto& [request, message] : cases) {
    const Result<ContainerStatus> status = Start(request);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(status->state, ContainerState::kExited);
    EXPECT_EQ(status->exit_code, kStartErrorExitCode);
    EXPECT_EQ(status->message, message);
    EXPECT_TRUE(Forget(status->id));
  }
  EXPECT_EQ(CountEntries(temp_ / "run/containers"), 0U);
  if (cgroup_) {
    EXPECT_EQ(cgroup_->Read("cgroup.procs"), "");
  }
}

TEST_F(RuntimeTest, WhatTheNodeCannotDoIsAnErrorAndLeavesNothing) {
  StartRequest gone = Request({"/bin/true"});
  gone.cgroup.dirs = {"/sys/fs/cgroup/cpuset/berth-never-made"};
  const Result<ContainerStatus> no_cgroup = Start(gone);
  ASSERT_FALSE(no_cgroup);
  EXPECT_EQ(no_cgroup.error().message,
            "start container app of pod default/pod: open /sys/fs/cgroup/cpuset/berth-never-made/cgroup.procs: No such "
            "file or directory");
  StartRequest none = Request({});
  EXPECT_EQ(Start(none).error().code, Code::kInvalid);
  StartRequest evil = Request({"/bin/true"});
  evil.pod_uid = "../../etc";
  EXPECT_EQ(Start(evil).error().code, Code::kInvalid);
  EXPECT_EQ(Start(Request({"/bin/echo", std::string("a\0b", 3)})).error().code, Code::kInvalid);
  StartRequest bad_env = Request({"/bin/true"});
  bad_env.env = {{"A=B", "c"}};
  EXPECT_EQ(Start(bad_env).error().code, Code::kInvalid);
  EXPECT_EQ(CountEntries(temp_ / "run/containers"), 0U);
}

TEST_F(RuntimeTest, EmptyCpusetIsNamedAsTheReasonOnV1AndInheritsOnV2) {
  const std::unique_ptr<TestCgroup> empty = TestCgroup::Make("cpuset", "empty");
  if (!empty) GTEST_SKIP() << "this host has no cpuset controller";
  StartRequest request = Request({"/bin/grep", "Cpus_allowed_list", "/proc/self/status"});
  request.cgroup = empty->dirs();
  if (empty->v2()) {
    EXPECT_EQ(Run(request).exit_code, 0);
    EXPECT_EQ(Output(request), "Cpus_allowed_list:\t" + empty->AllCpus() + "\n");
    return;
  }
  const Result<ContainerStatus> status = Start(request);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("its cpuset.cpus or cpuset.mems is empty"), std::string::npos);
  EXPECT_EQ(CountEntries(temp_ / "run/containers"), 0U);
}

TEST_F(RuntimeTest, ProcessGetsExactlyWhatWasAskedFor) {
  StartRequest request = Request({"sh", "-c"});
  request.container.args = {
      // No pipe where the shell's own descriptors are listed: it holds both ends while it starts the first command.
      "env | sort; pwd; umask; readlink /proc/self/fd/0; ls /proc/$$/fd; "
      "grep -E 'Sig(Blk|Ign)' /proc/$$/status; cat /proc/$$/oom_score_adj; "
      "[ $(cut -d' ' -f6 /proc/$$/stat) = $$ ] && echo leader; cut -d' ' -f7 /proc/$$/stat"};
  request.env = {{"A", "1 2"}, {"NL", "x\ny"}, {"PATH", "/usr/bin:/bin"}};
  request.container.working_dir = "/usr";
  request.oom_score_adj = 500;
  const ContainerStatus status = Run(request);
  EXPECT_EQ(status.exit_code, 0) << status.message;
  // A shell may set PWD for itself.
  std::string output = Output(request);
  for (const std::string line : {"PWD=/usr\n", "_=/usr/bin/env\n", "SHLVL=0\n", "OLDPWD=/usr\n"})
    if (const std::size_t at = output.find(line); at != std::string::npos) output.erase(at, line.size());
  EXPECT_EQ(output,
            "A=1 2\nNL=x\nPATH=/usr/bin:/bin\ny\n/usr\n0022\n/dev/null\n0\n1\n2\n"
            "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n500\nleader\n0\n");
}

TEST_F(RuntimeTest, OomScoreThatCannotBeLoweredIsAWarning) {
  StartRequest request = Request({"/bin/cat", "/proc/self/oom_score_adj"});
  request.oom_score_adj = -997;
  const ContainerStatus status = Run(request);
  EXPECT_EQ(status.exit_code, 0);
  if (Output(request) == "-997\n") {
    EXPECT_TRUE(status.warnings.empty());
  } else {
    ASSERT_EQ(status.warnings.size(), 1U);
    EXPECT_EQ(status.warnings[0], "set oom_score_adj: Permission denied (wanted -997)");
  }
}

TEST_F(RuntimeTest, BothStreamsAndUnfinishedLinesAreLogged) {
  const StartRequest request = Request({"/bin/sh", "-c", "echo out; echo err >&2; printf unfinished"});
  EXPECT_EQ(Run(request).exit_code, 0);
  EXPECT_EQ(Output(request), "out\nunfinished\n");
  EXPECT_EQ(Output(request, "stderr"), "err\n");
}

TEST_F(RuntimeTest, TenMegabytesOfOutputAreRotated) {
  StartRequest request = Request({"/bin/sh", "-c", "seq -f '%099.0f' 1 100000"});
  request.log_max_bytes = 2U << 20;
  request.log_max_files = 3;
  const ContainerStatus status = Run(request);
  EXPECT_EQ(status.exit_code, 0);
  EXPECT_TRUE(status.warnings.empty());
  EXPECT_EQ(CountEntries(temp_ / "logs/app"), 3U);
  for (const char* name : {"logs/app/0.log", "logs/app/0.log.1", "logs/app/0.log.2"}) {
    struct stat st{};
    ASSERT_EQ(::stat((temp_ / name).c_str(), &st), 0) << name;
    EXPECT_LE(st.st_size, 2 << 20) << name;
  }
  const Result<LogPart> tail = TailLog(request.log_path, {.entries = 20'000, .bytes = 8U << 20});
  ASSERT_TRUE(tail);
  ASSERT_EQ(tail->entries.size(), 20'000U);
  for (std::size_t i = 0; i < tail->entries.size(); ++i)
    ASSERT_EQ(ParseDecimal<std::size_t>(tail->entries[i].text), 80'001 + i) << "lines are missing or out of order";
}

TEST_F(RuntimeTest, LeftoversDoNotKeepAContainerAlive) {
  if (!cgroup_) GTEST_SKIP() << "this host has no cpuset controller";
  const StartRequest request = Request({"/bin/sh", "-c", "sleep 600 & echo main; exit 4"});
  EXPECT_EQ(Run(request).exit_code, 4);
  EXPECT_EQ(Output(request), "main\n");
  EXPECT_TRUE(cgroup_->Pids().empty()) << "what it left is ended with it";
}

TEST_F(RuntimeTest, ForgetRefusesTheLivingAndRemovesTheDead) {
  const Result<ContainerStatus> status = Start(Request({"/bin/sleep", "600"}));
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(Forget(status->id).error().code, Code::kConflict);
  EXPECT_TRUE(runtime_->Signal(status->id, SIGKILL));
  EXPECT_EQ(WaitEnd(status->id).exit_code, 137);
  EXPECT_TRUE(Forget(status->id));
  EXPECT_TRUE(Forget(status->id)) << "unknown is success";
  EXPECT_FALSE(Listed(status->id));
  EXPECT_EQ(CountEntries(temp_ / "run/containers"), 0U);
}

TEST_F(RuntimeTest, StartIsAnEventAndWhatComesMeanwhileIsDoneAfterIt) {
  const Result<ContainerStatus> creating = runtime_->Start(Request({"/bin/sleep", "600"}));
  ASSERT_TRUE(creating) << creating.error().message;
  EXPECT_EQ(creating->state, ContainerState::kCreating);
  EXPECT_EQ(Listed(creating->id), *creating);
  EXPECT_EQ(CountEntries(temp_ / "run/containers"), 0U) << "nothing is done on the caller's thread";
  EXPECT_EQ(runtime_->Forget(creating->id).error().code, Code::kConflict);
  EXPECT_TRUE(runtime_->Signal(creating->id, SIGTERM));
  EXPECT_TRUE(runtime_->Poll().empty());
  executor_.RunAll();
  pollfd event{.fd = runtime_->event_fd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&event, 1, kPatienceMs), 1);
  const std::vector<ContainerStatus> changed = runtime_->Poll();
  ASSERT_FALSE(changed.empty());
  EXPECT_EQ(changed[0].id, creating->id);
  EXPECT_EQ(WaitEnd(creating->id).signal, SIGTERM);
}

TEST_F(RuntimeTest, AStartUnderWayOutlivesItsRuntime) {
  const Result<ContainerStatus> creating = runtime_->Start(Request({"/bin/sleep", "600"}));
  ASSERT_TRUE(creating) << creating.error().message;
  runtime_.reset();
  executor_.RunAll();
  Open();
  ASSERT_TRUE(Listed(creating->id));
  EXPECT_EQ(Listed(creating->id)->state, ContainerState::kRunning);
}

TEST_F(RuntimeTest, HundredStartsLeaveNoZombiesDescriptorsOrFiles) {
  const std::size_t fds = CountEntries("/proc/self/fd");
  for (int i = 0; i < 100; ++i) {
    StartRequest request = Request({"/bin/true"});
    request.attempt = i;
    const ContainerStatus status = Run(request);
    ASSERT_EQ(status.exit_code, 0) << status.message;
    ASSERT_TRUE(Forget(status.id));
  }
  EXPECT_EQ(CountEntries("/proc/self/fd"), fds);
  EXPECT_EQ(CountEntries(temp_ / "run/containers"), 0U);
  siginfo_t info{};
  EXPECT_EQ(::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT), -1) << "child " << info.si_pid << " is left";
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(RuntimeTest, SupervisorIsSmallAndStandsApart) {
  const std::unique_ptr<TestCgroup> home = TestCgroup::Make("cpuset", "shims");
  if (!home) GTEST_SKIP() << "this host has no cpuset controller";
  home->Write("cpuset.cpus", "0");
  home->Write("cpuset.mems", "0");
  runtime_.reset();
  ProcessRuntimeOptions options = Options();
  options.shim_cgroup = home->dirs();
  Result<std::unique_ptr<Runtime>> opened = OpenProcessRuntime(options);
  ASSERT_TRUE(opened) << opened.error().message;
  runtime_ = *std::move(opened);
  const Result<ContainerStatus> status = Start(Request({"/bin/sleep", "600"}));
  ASSERT_TRUE(status) << status.error().message;
  ASSERT_EQ(home->Pids().size(), 1U);
  const std::string proc = testkit::ReadText("/proc/" + std::to_string(home->Pids()[0]) + "/status");
  std::size_t resident_kb = 0;
  for (const std::string_view line : Split(proc, '\n'))
    if (line.starts_with("VmRSS:")) resident_kb = ParseDecimal<std::size_t>(SplitWords(line)[1]).value_or(0);
  RecordProperty("resident_kb", std::to_string(resident_kb));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LE(resident_kb, 2048U);
#endif
  EXPECT_NE(proc.find("Cpus_allowed_list:\t0\n"), std::string::npos);
  EXPECT_EQ(cgroup_->Pids(), std::vector<int>{status->pid});
  cgroup_->Kill();
  EXPECT_EQ(WaitEnd(status->id).exit_code, 137);
}

TEST_F(RuntimeTest, SecondRuntimeOnTheSameDirectoryIsRefused) {
  const Result<std::unique_ptr<Runtime>> second = OpenProcessRuntime(Options());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kInUse);
}

TEST_F(RuntimeTest, MissingSupervisorProgramIsNamed) {
  ProcessRuntimeOptions options = Options();
  options.shim_path = "/nope/berth-shim";
  EXPECT_EQ(OpenProcessRuntime(options).error().message,
            "the supervisor program /nope/berth-shim is missing: install berth-shim");
}

TEST_F(RuntimeTest, OomKillIsReported) {
  const std::unique_ptr<TestCgroup> memory = TestCgroup::Make("memory", "oom");
  if (!memory) GTEST_SKIP() << "this host has no memory controller";
  memory->Write(memory->v2() ? "memory.max" : "memory.limit_in_bytes", "16777216");
  StartRequest request = Request({"/usr/bin/tail", "/dev/zero"});
  if (memory->v2()) {
    request.cgroup = memory->dirs();
  } else {
    request.cgroup.dirs.push_back(memory->dir());
  }
  for (int attempt = 0; attempt < 2; ++attempt) {
    const ContainerStatus status = Run(request);
    EXPECT_EQ(status.exit_code, 137);
    EXPECT_TRUE(status.oom_killed);
  }
  request.container.command = {"/bin/sh", "-c", "kill -9 $$"};
  EXPECT_FALSE(Run(request).oom_killed) << "earlier kills in the same cgroup do not count";
}

TEST_F(RuntimeTest, Version2ContainerStartsInsideItsCgroup) {
  const std::unique_ptr<TestCgroup> cgroup = TestCgroup::MakeUnified("v2");
  if (!cgroup) GTEST_SKIP() << "no cgroup2 mount";
  StartRequest request = Request({"/bin/grep", "^0::", "/proc/self/cgroup"});
  request.cgroup = cgroup->dirs();
  const ContainerStatus status = Run(request);
  EXPECT_EQ(status.exit_code, 0) << status.message;
  const std::string name = cgroup->dir().substr(cgroup->dir().rfind('/'));
  EXPECT_TRUE(Output(request).ends_with(name + "\n")) << Output(request);
  request.cgroup.dirs = {cgroup->dir() + "/never-made"};
  const Result<ContainerStatus> started = Start(request);
  ASSERT_FALSE(started);
  EXPECT_TRUE(started.error().message.ends_with("No such file or directory")) << started.error().message;
}

}  // namespace
}  // namespace berth::runtime
