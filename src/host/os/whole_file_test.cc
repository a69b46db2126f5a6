#include "host/os/whole_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "host/os/unique_fd.h"
#include "testing/fixtures.h"

namespace berth::os {
namespace {

using testkit::TempDir;

TEST(WholeFileTest, WhatIsWrittenIsReadBack) {
  const TempDir dir;
  const std::string path = dir / "file";
  const std::string bytes(100'000, 'x');
  {
    const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_TRUE(WriteAll(fd.get(), bytes, path));
  }
  EXPECT_EQ(bytes, TextOf(path));
  EXPECT_EQ("", TextOf(path + ".not-there"));
}

TEST(WholeFileTest, AWriteThatFailsNamesTheFile) {
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full.valid());
  const auto written = WriteAll(full.get(), "text", "/dev/full");
  ASSERT_FALSE(written);
  EXPECT_EQ(ENOSPC, written.error().sys);
  EXPECT_NE(std::string::npos, written.error().message.find("/dev/full"));
}

TEST(WholeFileTest, NamesAreSortedAndCanBeListedAgain) {
  const TempDir dir;
  for (const char* const name : {"b", "a", "..c"})
    const UniqueFd made(::open((dir / name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const UniqueFd fd(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::vector<std::string> expected = {"..c", "a", "b"};
  for (int round = 0; round < 2; ++round) {
    const auto names = NamesIn(fd.get(), dir.path());
    ASSERT_TRUE(names);
    EXPECT_EQ(expected, *names);
  }
  EXPECT_EQ(EBADF, NamesIn(-1, "nothing").error().sys);
}

}  // namespace
}  // namespace berth::os
