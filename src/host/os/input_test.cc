#include "host/os/input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <thread>

#include "testing/fixtures.h"

namespace berth::os {
namespace {

using testing::HasSubstr;

TEST(ReadInputTest, ReadsAWholeFileLongerThanOneRead) {
  const testkit::TempDir folder;
  const std::string text(200'000, 'x');
  std::ofstream(folder / "f") << text;
  const auto read = ReadInput(folder / "f");
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, text);
}

TEST(ReadInputTest, ReadsAPipeToItsEnd) {
  const testkit::TempDir folder;
  const std::string path = folder / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path) << "kind: Pod\n"; });
  const auto read = ReadInput(path);
  writer.join();
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, "kind: Pod\n");
}

TEST(ReadInputTest, NamesWhatCannotBeRead) {
  const testkit::TempDir folder;
  const auto missing = ReadInput(folder / "none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_THAT(missing.error().message, HasSubstr("open " + (folder / "none")));
  const auto directory = ReadInput(folder / ".");
  ASSERT_FALSE(directory);
  EXPECT_THAT(directory.error().message, HasSubstr("Is a directory"));
}

}  // namespace
}  // namespace berth::os
