#include "host/os/write_watch.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "testing/fixtures.h"

namespace berth::os {
namespace {

TEST(WriteWatchTest, NamesTheWriterAndLeavesOwnWritesOut) {
  auto watch = WriteWatch::Open();
  if (!watch) GTEST_SKIP() << watch.error().message;
  const testkit::TempDir temp;
  std::ofstream(temp / "file") << "made before\n";
  ASSERT_TRUE(watch->Add(temp.path()));
  ASSERT_TRUE(watch->Add(temp.path()));
  std::ofstream(temp / "file") << "own\n";
  const int pid = ::fork();
  if (pid == 0) {
    std::ofstream(temp / "file") << "foreign\n";
    ::_exit(0);
  }
  pollfd ready{watch->fd(), POLLIN, 0};
  ASSERT_EQ(::poll(&ready, 1, 20'000), 1);
  std::vector<FileWrite> all;
  while (all.empty() && ::poll(&ready, 1, 20'000) == 1) all = watch->Take().list;
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.front().path, temp / "file");
  EXPECT_EQ(all.front().pid, pid);
  EXPECT_NE(all.front().who.find("(pid " + std::to_string(pid)), std::string::npos) << all.front().who;
  ::waitpid(pid, nullptr, 0);
  EXPECT_TRUE(watch->Take().list.empty());
}

TEST(WriteWatchTest, AMissingFolderIsNamed) {
  auto watch = WriteWatch::Open();
  if (!watch) GTEST_SKIP() << watch.error().message;
  const testkit::TempDir temp;
  const auto added = watch->Add(temp / "none");
  ASSERT_FALSE(added);
  EXPECT_EQ(added.error().code, Code::kNotFound);
  EXPECT_NE(added.error().message.find("none"), std::string::npos);
}

}  // namespace
}  // namespace berth::os
