#include "host/os/process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "host/os/children.h"
#include "host/os/pidfd.h"
#include "host/os/pipe.h"
#include "host/os/supervisor_message.h"

namespace berth::os {
namespace {

// Everything that can be read until the end.
std::string ReadAll(int fd) {
  std::string out;
  std::array<char, 4096> chunk;
  ssize_t n = 0;
  while ((n = ::read(fd, chunk.data(), chunk.size())) > 0) out.append(chunk.data(), static_cast<std::size_t>(n));
  return out;
}

// Runs `spec` to its end; its output.
std::string Output(ProcessSpec spec) {
  std::array<int, 2> fds{};
  EXPECT_EQ(::pipe(fds.data()), 0);
  spec.stdout_fd = fds[1];
  const Result<Process> process = Spawn(spec);
  ::close(fds[1]);
  EXPECT_TRUE(process) << process.error().message;
  const std::string out = ReadAll(fds[0]);
  ::close(fds[0]);
  if (process && !process->refused) ReapChild(process->pid);
  return out;
}

TEST(SpawnTest, ChildrenGetTheLimitOfOpenFilesBackThatWasRaisedForUs) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{.rlim_cur = std::min<rlim_t>(200, before.rlim_max), .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  RaiseOpenFiles();
  rlimit raised{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &raised), 0);
  EXPECT_EQ(raised.rlim_cur, before.rlim_max);
  EXPECT_EQ(Output({.argv = {"/bin/sh", "-c", "ulimit -Sn"}}), std::to_string(low.rlim_cur) + "\n");
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(SpawnTest, EnvironmentArgumentsAndDirectoryAreExactlyThoseGiven) {
  EXPECT_EQ(Output({.argv = {"/usr/bin/env"}, .env = {"A=b c", "D="}}), "A=b c\nD=\n");
  EXPECT_EQ(Output({.argv = {"/bin/echo", "", "x  y"}}), " x  y\n");
  EXPECT_EQ(Output({.argv = {"pwd"}, .search_path = "/nope:/bin", .working_dir = "/usr"}), "/usr\n");
  EXPECT_EQ(Output({.argv = {"bin/pwd"}, .working_dir = "/usr"}), "/usr\n") << "relative to the working directory";
}

TEST(SpawnTest, SignalsAndDescriptorsOfTheCallerDoNotReachTheProgram) {
  const auto old = ::signal(SIGUSR1, SIG_IGN);
  const UniqueFd leak(::dup(0));
  // By the shell alone: a pipe would be descriptors of its own.
  const std::string out = Output({.argv = {"/bin/sh", "-c",
                                           "grep SigIgn /proc/$$/status; n=0; while [ $n -le 99 ]; do"
                                           " [ ! -e /proc/$$/fd/$n ] || printf '%s ' $n; n=$((n + 1)); done"}});
  ::signal(SIGUSR1, old);
  ASSERT_LT(leak.get(), 100);
  EXPECT_EQ(out, "SigIgn:\t0000000000000000\n0 1 2 ");
}

TEST(SpawnTest, ExtraDescriptorBecomesNumberThree) {
  Result<Pipe> pipe = MakePipe();
  ASSERT_TRUE(pipe);
  const Result<Process> process =
      Spawn({.argv = {"/bin/sh", "-c", "echo three >&3"}, .extra_fd = pipe->write_end.get()});
  ASSERT_TRUE(process) << process.error().message;
  EXPECT_TRUE(WaitEnd(process->pidfd.get(), Millis(30'000)));
  ReapChild(process->pid);
  EXPECT_EQ(ReadAll(pipe->read_end.get()), "three\n");
}

TEST(SpawnTest, ProgramsThatCannotBeExecutedAreRefusedAndReaped) {
  const Result<Process> missing = Spawn({.argv = {"/bin/nope"}});
  ASSERT_TRUE(missing);
  ASSERT_TRUE(missing->refused);
  EXPECT_EQ(missing->refused->message, "exec /bin/nope: No such file or directory");
  EXPECT_EQ(missing->refused->sys, ENOENT);
  const Result<Process> empty = Spawn({.argv = {""}});
  ASSERT_TRUE(empty && empty->refused);
  const Result<Process> directory = Spawn({.argv = {"/bin/true"}, .working_dir = "/nope"});
  ASSERT_TRUE(directory && directory->refused);
  EXPECT_EQ(directory->refused->message, "change to working directory /nope: No such file or directory");
  EXPECT_EQ(PeekEndedChild(), std::nullopt);
}

TEST(SpawnTest, MissingCgroupIsAnError) {
  for (const bool v2 : {false, true}) {
    const Result<Process> process = Spawn({.argv = {"/bin/true"}, .cgroup_dirs = {"/nope/cgroup"}, .cgroup_v2 = v2});
    ASSERT_FALSE(process);
    EXPECT_EQ(process.error().code, Code::kNotFound);
    EXPECT_EQ(process.error().message, "open /nope/cgroup/cgroup.procs: No such file or directory");
  }
}

TEST(ChildTest, EndsArePeekedBeforeTheyAreReaped) {
  const Result<Process> process = Spawn({.argv = {"/bin/sh", "-c", "kill -15 $$"}});
  ASSERT_TRUE(process);
  ASSERT_TRUE(WaitEnd(process->pidfd.get(), Millis(30'000)));
  for (int i = 0; i < 2; ++i) {
    const std::optional<ChildEnd> end = PeekEndedChild();
    ASSERT_TRUE(end);
    EXPECT_EQ(end->pid, process->pid);
    EXPECT_EQ(end->exit_code, 143);
    EXPECT_EQ(end->signal, 15);
  }
  ReapChild(process->pid);
  EXPECT_FALSE(PeekEndedChild());
}

TEST(PidfdTest, StartTimeIsFieldTwentyTwoWhateverTheName) {
  EXPECT_EQ(ParseStartTicks("7 (a) b) (c) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 4711 9 9"), 4711U);
  for (const char* junk : {"", "7", "7 (a) S 1 2", "7 (a) S 1 7 7 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 x 9 9"}) {
    EXPECT_EQ(ParseStartTicks(junk).error().code, Code::kCorrupt) << junk;
  }
}

TEST(PidfdTest, AKillThatHasNotEndedAProcessIsAmongItsPendingSignals) {
  EXPECT_TRUE(
      HasPendingKill("Name:\tdd\nState:\tD (disk sleep)\nSigPnd:\t0000000000000100\nShdPnd:\t0000000000000000\n"));
  EXPECT_TRUE(HasPendingKill("SigPnd:\t0000000000000000\nShdPnd:\t0000000000004101\n"));
  EXPECT_FALSE(HasPendingKill("SigPnd:\t0000000000004000\nShdPnd:\t0000000000000200\nSigBlk:\t0000000000000100\n"));
  EXPECT_FALSE(HasPendingKill("SigPnd:\tx\nShdPnd:\n"));
  EXPECT_FALSE(HasPendingKill(""));
  EXPECT_FALSE(SurvivesKill(::getpid()));
  EXPECT_FALSE(SurvivesKill(0)) << "gone";
}

TEST(PidfdTest, HandleIsGivenForTheRightStartTimeOnly) {
  const Result<std::uint64_t> mine = StartTicksOf(::getpid());
  ASSERT_TRUE(mine);
  EXPECT_TRUE(OpenPidfd(::getpid(), *mine));
  EXPECT_EQ(OpenPidfd(::getpid(), *mine + 1).error().code, Code::kNotFound);
  EXPECT_EQ(OpenPidfd(0, 0).error().code, Code::kNotFound);
  EXPECT_EQ(OpenPidfd(-5, 0).error().code, Code::kNotFound);
}

TEST(PidfdTest, EndedProcessIsNoticedAndSignalsToItAreNoError) {
  Result<PidfdSet> set = PidfdSet::Open();
  ASSERT_TRUE(set);
  Result<Process> process = Spawn({.argv = {"/bin/sleep", "600"}});
  ASSERT_TRUE(process);
  ASSERT_TRUE(set->Add(process->pidfd.get(), 42));
  EXPECT_FALSE(HasEnded(process->pidfd.get()));
  EXPECT_TRUE(set->Ready().empty());
  EXPECT_TRUE(SendSignal(process->pidfd.get(), SIGKILL));
  EXPECT_TRUE(WaitEnd(process->pidfd.get(), Millis(30'000)));
  EXPECT_EQ(set->Ready(), std::vector<std::uint64_t>{42});
  EXPECT_EQ(OpenPidfd(process->pid, process->start_ticks).error().code, Code::kNotFound) << "ended, not reaped";
  Reap(process->pidfd.get());
  EXPECT_TRUE(SendSignal(process->pidfd.get(), SIGKILL));
  EXPECT_FALSE(PeekEndedChild());
  process->pidfd.reset();
  EXPECT_TRUE(set->Ready().empty());
}

TEST(MessageTest, TextAndDescriptorArrive) {
  Result<SocketPair> pair = MakeSocketPair();
  Result<Pipe> pipe = MakePipe();
  ASSERT_TRUE(pair && pipe);
  ASSERT_TRUE(SendMessage(pair->ours.get(), "hello", pipe->write_end.get()));
  ASSERT_TRUE(SendMessage(pair->ours.get(), "second"));
  Result<std::optional<Message>> first = ReceiveMessage(pair->theirs.get(), std::nullopt);
  ASSERT_TRUE(first && *first);
  EXPECT_EQ((*first)->text, "hello");
  ASSERT_EQ(::write((*first)->fd.get(), "x", 1), 1);
  std::array<char, 4> byte{};
  EXPECT_EQ(::read(pipe->read_end.get(), byte.data(), byte.size()), 1);
  EXPECT_EQ((*ReceiveMessage(pair->theirs.get(), std::nullopt))->text, "second");
}

TEST(MessageTest, ClosedSocketAndPassedDeadlineAreTold) {
  Result<SocketPair> pair = MakeSocketPair();
  ASSERT_TRUE(pair);
  const Result<std::optional<Message>> late = ReceiveMessage(pair->theirs.get(), SystemClock().Now());
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Code::kTimeout);
  pair->ours.reset();
  const Result<std::optional<Message>> end = ReceiveMessage(pair->theirs.get(), std::nullopt);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_FALSE(*end);
  EXPECT_EQ(SendMessage(pair->theirs.get(), "x").error().sys, EPIPE);
}

}  // namespace
}  // namespace berth::os
