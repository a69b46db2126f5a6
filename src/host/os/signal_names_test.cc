#include "host/os/signal_names.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace berth::os {
namespace {

TEST(SignalNamesTest, NamesOfTheApiAreSignalsOfLinux) {
  EXPECT_EQ(SIGTERM, SignalNumber("SIGTERM"));
  EXPECT_EQ(SIGUSR1, SignalNumber("SIGUSR1"));
  EXPECT_EQ(SIGSTKFLT, SignalNumber("SIGSTKFLT"));
  EXPECT_EQ(SIGCHLD, SignalNumber("SIGCLD"));
  EXPECT_EQ(SIGABRT, SignalNumber("SIGIOT"));
  EXPECT_EQ(SIGIO, SignalNumber("SIGPOLL"));
  EXPECT_EQ(SIGRTMIN, SignalNumber("SIGRTMIN"));
  EXPECT_EQ(SIGRTMIN + 15, SignalNumber("SIGRTMIN+15"));
  EXPECT_EQ(SIGRTMAX - 14, SignalNumber("SIGRTMAX-14"));
}

TEST(SignalNamesTest, OtherWordsAreNone) {
  for (const char* name : {"", "TERM", "SIG", "SIGNONE", "SIGRTMIN+", "SIGRTMIN+99", "SIGRTMAX-99", "SIGterm"})
    EXPECT_EQ(std::nullopt, SignalNumber(name)) << name;
}

}  // namespace
}  // namespace berth::os
