#include "host/os/placeholder.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>

#include "host/os/pidfd.h"

namespace berth::os {
namespace {

UniqueFd HandleOf(int pid) {
  const auto start = StartTicksOf(pid);
  auto handle = start ? OpenPidfd(pid, *start) : Result<UniqueFd>(std::unexpected(start.error()));
  EXPECT_TRUE(handle);
  return handle ? *std::move(handle) : UniqueFd();
}

TEST(PlaceholderTest, LivesUntilItIsLetGoAndIsReapedThen) {
  int pid = 0;
  UniqueFd handle;
  {
    auto started = Placeholder::Start();
    ASSERT_TRUE(started) << started.error().message;
    const Placeholder moved = *std::move(started);
    pid = moved.pid();
    handle = HandleOf(pid);
    EXPECT_FALSE(HasEnded(handle.get()));
  }
  EXPECT_TRUE(HasEnded(handle.get()));
  EXPECT_EQ(-1, ::waitpid(pid, nullptr, WNOHANG));
  EXPECT_EQ(ECHILD, errno);
}

TEST(PlaceholderTest, HoldsNoFileOfOurs) {
  std::array<int, 2> ends{};
  ASSERT_EQ(0, ::pipe(ends.data()));
  const auto held = Placeholder::Start();
  ASSERT_TRUE(held);
  ::close(ends[1]);
  pollfd watched{.fd = ends[0], .events = POLLIN, .revents = 0};
  EXPECT_EQ(1, ::poll(&watched, 1, 10'000)) << "it still holds the writing end";
  EXPECT_NE(0, watched.revents & POLLHUP);
  ::close(ends[0]);
}

TEST(PlaceholderTest, EndsWithTheProcessThatStartedItEvenWhenThatIsKilled) {
  std::array<int, 2> ends{};
  ASSERT_EQ(0, ::pipe(ends.data()));
  const int starter = ::fork();
  if (starter == 0) {
    const auto held = Placeholder::Start();
    const int pid = held ? held->pid() : 0;
    [[maybe_unused]] const auto told = ::write(ends[1], &pid, sizeof pid);
    for (;;) ::pause();
  }
  int pid = 0;
  ASSERT_EQ(static_cast<ssize_t>(sizeof pid), ::read(ends[0], &pid, sizeof pid));
  ASSERT_GT(pid, 0);
  const UniqueFd handle = HandleOf(pid);
  ASSERT_EQ(0, ::kill(starter, SIGKILL));
  EXPECT_TRUE(WaitEnd(handle.get(), Millis(10'000)));
  ::waitpid(starter, nullptr, 0);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace berth::os
