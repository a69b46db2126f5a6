// Daemon and supervisors killed at bad moments: what the next runtime on the same directory finds.
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/text.h"
#include "host/os/pidfd.h"
#include "host/os/volatile_file.h"
#include "runtime/process/record.h"
#include "runtime_fixture.h"

namespace berth::runtime {
namespace {

class RuntimeRecoveryTest : public RuntimeTest {
 protected:
  void SetUp() override {
    RuntimeTest::SetUp();
    if (IsSkipped()) return;
    if (!cgroup_) GTEST_SKIP() << "this host has no cpuset controller";
  }

  std::string RecordDir(const std::string& id) const { return temp_ / "run/containers/" + id; }
  ShimState ReadState(const std::string& id) const {
    const Result<ShimState> state = ParseState(testkit::ReadText(RecordDir(id) + "/state"));
    if (!state) ADD_FAILURE() << state.error().message;
    return state.value_or(ShimState{});
  }
  void WriteState(const std::string& id, const ShimState& state) const {
    EXPECT_TRUE(os::ReplaceVolatile(RecordDir(id) + "/state", FormatState(state)));
  }
  std::size_t Records() const {
    return (*os::OpenFs(temp_ / "run/containers"))->List("").value_or(std::vector<std::string>()).size();
  }
  std::vector<ContainerStatus> List() { return runtime_->List().value_or(std::vector<ContainerStatus>()); }

  /// In a process of its own: opens the runtime, starts `request` and dies by SIGKILL. Returns the container's id.
  std::string StartAndDie(const StartRequest& request);
  /// As StartAndDie, but killed before system call number `call` of Start. False: Start makes fewer calls.
  bool DieAtCall(const StartRequest& request, int call);
};

std::string RuntimeRecoveryTest::StartAndDie(const StartRequest& request) {
  runtime_.reset();
  std::array<int, 2> fds{};
  EXPECT_EQ(::pipe(fds.data()), 0);
  const pid_t owner = ::fork();
  if (owner == 0) {
    Result<std::unique_ptr<Runtime>> runtime = OpenProcessRuntime(Options());
    if (!runtime) ::_exit(1);
    const Result<ContainerStatus> status = StartNow(**runtime, executor_, request);
    if (!status || ::write(fds[1], status->id.data(), status->id.size()) < 0) ::_exit(2);
    ::kill(::getpid(), SIGKILL);
  }
  ::close(fds[1]);
  int how = 0;
  EXPECT_EQ(::waitpid(owner, &how, 0), owner);
  EXPECT_TRUE(WIFSIGNALED(how)) << "the owner could not start the container: " << WEXITSTATUS(how);
  std::array<char, 256> id{};
  const ssize_t n = ::read(fds[0], id.data(), id.size());
  ::close(fds[0]);
  return std::string(id.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
}

bool RuntimeRecoveryTest::DieAtCall(const StartRequest& request, int call) {
  runtime_.reset();
  const pid_t owner = ::fork();
  if (owner == 0) {
    Result<std::unique_ptr<Runtime>> runtime = OpenProcessRuntime(Options());
    if (!runtime || ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(1);
    ::raise(SIGSTOP);
    const bool started = StartNow(**runtime, executor_, request).has_value();
    ::_exit(started ? 0 : 2);
  }
  int how = 0;
  EXPECT_EQ(::waitpid(owner, &how, 0), owner);
  EXPECT_TRUE(WIFSTOPPED(how)) << "cannot trace a child here";
  // Each call stops twice, before and after; other stops (signals) do not occur.
  for (int stop = 0; WIFSTOPPED(how) && stop < 2 * call + 1; ++stop) {
    if (::ptrace(PTRACE_SYSCALL, owner, nullptr, nullptr) != 0) break;
    ::waitpid(owner, &how, 0);
  }
  if (WIFSTOPPED(how)) {
    ::kill(owner, SIGKILL);
    ::waitpid(owner, &how, 0);
    return true;
  }
  EXPECT_TRUE(WIFEXITED(how) && WEXITSTATUS(how) == 0) << how;
  return false;
}

TEST_F(RuntimeRecoveryTest, ProcessSurvivesItsOwnerAndIsFoundAgain) {
  const StartRequest request =
      Request({"/bin/sh", "-c", "echo one; read line < " + (temp_ / "gate") + "; echo $line; exit 5"});
  ASSERT_EQ(::mkfifo((temp_ / "gate").c_str(), 0600), 0);
  const std::string id = StartAndDie(request);
  Open();
  std::optional<ContainerStatus> status = Listed(id);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->state, ContainerState::kRunning);
  EXPECT_EQ(status->pod_uid, "uid-1");
  EXPECT_EQ(status->container, "app");
  EXPECT_EQ(cgroup_->Pids(), std::vector<int>{status->pid});
  Open();
  EXPECT_EQ(Listed(id), status) << "a second restart changes nothing";
  FILE* gate = std::fopen((temp_ / "gate").c_str(), "w");
  ASSERT_NE(gate, nullptr);
  std::fputs("two\n", gate);
  std::fclose(gate);
  EXPECT_EQ(WaitEnd(id).exit_code, 5) << "the exit code of a process this runtime is not the parent of";
  EXPECT_EQ(Output(request), "one\ntwo\n");
}

TEST_F(RuntimeRecoveryTest, ExitWhileNobodyWatchedIsFoundAgain) {
  const std::string id = StartAndDie(Request({"/bin/sh", "-c", "exit 9"}));
  // The supervisor became our orphan's orphan; its last word is in the record.
  for (int i = 0; i < kPatienceMs && ReadState(id).phase != ShimPhase::kExited; ++i) ::poll(nullptr, 0, 1);
  Open();
  const std::optional<ContainerStatus> status = Listed(id);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->state, ContainerState::kExited);
  EXPECT_EQ(status->exit_code, 9);
  EXPECT_TRUE(runtime_->Poll().empty());
  EXPECT_TRUE(Forget(id));
  EXPECT_EQ(Records(), 0U);
}

TEST_F(RuntimeRecoveryTest, FoundAgainProcessCanBeSignalled) {
  const std::string id = StartAndDie(Request({"/bin/sleep", "600"}));
  Open();
  EXPECT_TRUE(runtime_->Signal(id, SIGTERM));
  const ContainerStatus status = WaitEnd(id);
  EXPECT_EQ(status.exit_code, 143);
  EXPECT_EQ(status.signal, SIGTERM);
}

TEST_F(RuntimeRecoveryTest, OtherProcessUnderARecordedPidIsNotTouched) {
  const std::string id = StartAndDie(Request({"/bin/sleep", "600"}));
  const ShimState good = ReadState(id);
  pid_t bystander = 0;
  for (bool same_tick = true; same_tick;) {  // start times count in ticks of 10 ms: a later one is wanted
    bystander = ::fork();
    if (bystander == 0) {
      for (;;) ::pause();
    }
    const auto start = os::StartTicksOf(bystander).value_or(0);
    same_tick = start == good.start || start == good.shim_start;
    if (same_tick) ::kill(bystander, SIGKILL), ::waitpid(bystander, nullptr, 0);
  }
  ShimState reused = good;  // as if supervisor and process had ended and their pids belonged to somebody else by now
  reused.pid = reused.shim_pid = bystander;
  ShimState moved = good;  // pid and start time fit, but it is not in the container's cgroup
  moved.shim_pid = moved.pid = bystander;
  moved.start = os::StartTicksOf(bystander).value_or(0);
  moved.shim_start = moved.start + 1;
  ShimState old_boot = good;
  old_boot.boot_id = "another";
  for (const ShimState& state : {reused, moved, old_boot}) {
    runtime_.reset();
    WriteState(id, state);
    Open();
    const std::optional<ContainerStatus> status = Listed(id);
    ASSERT_TRUE(status);
    EXPECT_EQ(status->state, ContainerState::kUnknown);
    EXPECT_EQ(status->exit_code, std::nullopt);
    EXPECT_FALSE(status->message.empty());
    EXPECT_TRUE(runtime_->Signal(id, SIGKILL));
    EXPECT_EQ(::kill(bystander, 0), 0);
    EXPECT_EQ(::waitpid(bystander, nullptr, WNOHANG), 0) << "it was killed";
    EXPECT_EQ(cgroup_->Pids(), std::vector<int>{good.pid}) << "an unverified process is not touched either";
  }
  ::kill(bystander, SIGKILL);
  EXPECT_EQ(::waitpid(bystander, nullptr, 0), bystander);
}

TEST_F(RuntimeRecoveryTest, KilledSupervisorIsNoticedAndItsProcessKeptInView) {
  const Result<ContainerStatus> started = Start(Request({"/bin/sleep", "600"}));
  ASSERT_TRUE(started) << started.error().message;
  ASSERT_EQ(::kill(ReadState(started->id).shim_pid, SIGKILL), 0);
  pollfd event{.fd = runtime_->event_fd(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&event, 1, kPatienceMs), 1);
  const std::vector<ContainerStatus> changed = runtime_->Poll();
  ASSERT_EQ(changed.size(), 1U);
  EXPECT_EQ(changed[0].state, ContainerState::kRunning);
  EXPECT_EQ(changed[0].warnings.size(), 1U);
  Open();
  EXPECT_EQ(Listed(started->id)->state, ContainerState::kRunning) << "found again without a supervisor";
  EXPECT_TRUE(runtime_->Signal(started->id, SIGKILL));
  const ContainerStatus status = WaitEnd(started->id);
  EXPECT_EQ(status.state, ContainerState::kUnknown);
  EXPECT_EQ(status.exit_code, std::nullopt);
}

TEST_F(RuntimeRecoveryTest, JunkInTheDirectoryIsRemovedOrNamed) {
  const std::string id = StartAndDie(Request({"/bin/sleep", "600"}));
  const std::unique_ptr<os::Fs> fs = *os::OpenFs(temp_ / "run/containers");
  ASSERT_TRUE(fs->MakeDir("empty"));
  ASSERT_TRUE(fs->MakeDir("torn"));
  ASSERT_TRUE(fs->Replace("torn/request", "berth-request 1\nid torn\n"));
  ASSERT_TRUE(fs->Replace(id + "/state", "junk"));
  Open();
  EXPECT_EQ(Records(), 1U);
  const std::optional<ContainerStatus> status = Listed(id);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->state, ContainerState::kUnknown);
  EXPECT_EQ(status->message, "container state: no checksum line");
}

TEST_F(RuntimeRecoveryTest, OwnerKilledAtAnySystemCallOfStartLeavesAllOrNothing) {
  StartRequest request = Request({"/bin/sh", "-c", "echo started >> " + (temp_ / "marker") + "; exec sleep 600"});
  int found = 0;
  int nothing = 0;
  bool killed = true;
  for (int call = 0; killed; ++call) {
    SCOPED_TRACE(call);
    ASSERT_LT(call, 2000) << "Start does not end";
    request.attempt = call;
    killed = DieAtCall(request, call);
    Open();
    ASSERT_TRUE(runtime_);
    const std::vector<ContainerStatus> all = List();
    ASSERT_LE(all.size(), 1U);
    if (all.empty()) {
      ++nothing;
      EXPECT_EQ(cgroup_->Pids(), std::vector<int>{});
      EXPECT_NE(::access((temp_ / "marker").c_str(), F_OK), 0) << "a process ran without a record";
      // A supervisor that still writes its last word keeps its record; the next opening removes it.
      for (int again = 0; again < kPatienceMs && Records() > 0; ++again) {
        ::poll(nullptr, 0, 1);
        Open();
      }
      EXPECT_EQ(Records(), 0U);
    } else {
      ++found;
      ASSERT_EQ(all[0].state, ContainerState::kRunning) << all[0].message;
      EXPECT_EQ(cgroup_->Pids(), std::vector<int>{all[0].pid});
      EXPECT_TRUE(runtime_->Signal(all[0].id, SIGKILL));
      EXPECT_EQ(WaitEnd(all[0].id).exit_code, 137);
      EXPECT_TRUE(Forget(all[0].id));
      ::unlink((temp_ / "marker").c_str());
    }
    if (HasFailure()) break;
  }
  EXPECT_GT(nothing, 10);
  EXPECT_GT(found, 2);
}

}  // namespace
}  // namespace berth::runtime
