#include "host/os/open_writers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <optional>
#include <string>

#include "host/os/unique_fd.h"
#include "testing/fixtures.h"

namespace berth::os {
namespace {

TEST(OpenWritersTest, AFileIsWrittenAsLongAsSomebodyHasItOpenForThat) {
  const testkit::TempDir temp;
  const std::string path = temp / "file";
  std::optional<std::ofstream> writer(path);
  if (!IsOpenForWriting(path)) GTEST_SKIP() << "the file system of " << path << " has no leases";
  writer.reset();
  EXPECT_FALSE(IsOpenForWriting(path));
  const std::ifstream reader(path);
  EXPECT_FALSE(IsOpenForWriting(path));
  EXPECT_FALSE(IsOpenForWriting(temp / "none"));
}

/// A lease that is broken sends a signal to its holder.
TEST(OpenWritersTest, AWriterThatComesMeanwhileEndsNobody) {
  const testkit::TempDir temp;
  const std::string path = temp / "file";
  std::ofstream(path) << "text";
  const pid_t asks = ::fork();
  if (asks == 0) {
    while (true) IsOpenForWriting(path);
  }
  constexpr int kOpens = 20'000;
  for (int i = 0; i < kOpens; ++i) const UniqueFd writer(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  int status = 0;
  EXPECT_EQ(0, ::waitpid(asks, &status, WNOHANG)) << "ended by signal " << WTERMSIG(status);
  ::kill(asks, SIGKILL);
  ::waitpid(asks, &status, 0);
}

}  // namespace
}  // namespace berth::os
