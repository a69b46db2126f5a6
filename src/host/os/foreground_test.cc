#include "host/os/foreground.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

namespace berth::os {
namespace {

int StatusOfCommand(const std::vector<std::string>& argv) {
  const HeldSignals held;
  auto child = ForegroundChild::Start(argv);
  if (!child || !child->Open()) return -1;
  return child->Attend();
}

TEST(Foreground, TheExitStatusIsThatOfTheCommand) {
  EXPECT_EQ(StatusOfCommand({"true"}), 0);
  EXPECT_EQ(StatusOfCommand({"sh", "-c", "exit 41"}), 41);
  EXPECT_EQ(StatusOfCommand({"sh", "-c", "kill -KILL $$"}), 128 + SIGKILL);
}

TEST(Foreground, WhatCannotBeExecutedIsSaid) {
  const HeldSignals held;
  auto missing = ForegroundChild::Start({"/nonexistent/program"});
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->Open().error().code, Code::kNotFound);
  auto folder = ForegroundChild::Start({"/tmp"});
  ASSERT_TRUE(folder);
  EXPECT_EQ(folder->Open().error().code, Code::kPermission);
}

TEST(Foreground, ASignalToUsIsPassedOnAndTheCommandDecides) {
  const HeldSignals held;
  // Its own question to us comes only once its trap is set.
  auto child =
      ForegroundChild::Start({"sh", "-c", "trap 'exit 7' TERM; kill -TERM $PPID; while :; do sleep 0.05; done"});
  ASSERT_TRUE(child);
  ASSERT_TRUE(child->Open());
  EXPECT_EQ(child->Attend(), 7);
}

TEST(Foreground, WithoutAPlaceNothingIsExecuted) {
  const HeldSignals held;
  const std::string file = ::testing::TempDir() + "berth-foreground-" + std::to_string(::getpid());
  {
    ASSERT_TRUE(ForegroundChild::Start({"touch", file}));
  }
  EXPECT_NE(::access(file.c_str(), F_OK), 0);
}

TEST(Foreground, WhoIsAskedToEndWhileHeWaitsIsTold) {
  const HeldSignals held;
  EXPECT_EQ(held.Asked(Millis(1)), std::nullopt);
  ::kill(::getpid(), SIGTERM);
  EXPECT_EQ(held.Asked(Millis(1000)), SIGTERM);
}

TEST(Foreground, SignalsStayHeldUntilTheOuterOneEnds) {
  const HeldSignals outer;
  {
    const HeldSignals inner;
  }
  sigset_t blocked;
  ASSERT_EQ(0, ::sigprocmask(SIG_BLOCK, nullptr, &blocked));
  EXPECT_EQ(1, sigismember(&blocked, SIGINT));
}

}  // namespace
}  // namespace berth::os
