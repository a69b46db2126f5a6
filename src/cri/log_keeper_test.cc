#include "cri/log_keeper.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "testing/fixtures.h"

namespace berth::cri {
namespace {

void WriteText(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::string TextOf(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(LogKeeperTest, RotatesWhatIsLongerThanItsLimit) {
  const testkit::TempDir temp;
  const std::string log = temp / "0.log";
  for (const char* const text : {"first ", "second ", "third ", "fourth "}) {
    WriteText(log, "at the limit");
    EXPECT_EQ(LogStep::kNothing, *RotateLog(log, 12, 3));
    WriteText(log, std::string(text) + "is too long");
    EXPECT_EQ(LogStep::kReopen, *RotateLog(log, 12, 3));
    EXPECT_FALSE(std::filesystem::exists(log));
  }
  EXPECT_EQ("fourth is too long", TextOf(log + ".1"));
  EXPECT_EQ("third is too long", TextOf(log + ".2"));
  EXPECT_FALSE(std::filesystem::exists(log + ".3")) << "with the current one there are three";
}

TEST(LogKeeperTest, OpensAgainWhatWasRenamedAndNotOpened) {
  const testkit::TempDir temp;
  WriteText(temp / "0.log.1", "renamed");
  EXPECT_EQ(LogStep::kReopen, *RotateLog(temp / "0.log", 12, 3));
  EXPECT_EQ("renamed", TextOf(temp / "0.log.1")) << "nothing is renamed twice";
}

TEST(LogKeeperTest, LeavesAloneWhatIsNoFile) {
  const testkit::TempDir temp;
  std::filesystem::create_directory(temp / "0.log");
  EXPECT_EQ(LogStep::kNothing, *RotateLog(temp / "0.log", 0, 3));
  WriteText(temp / "long", std::string(100, 'x'));
  std::filesystem::create_symlink(temp / "long", temp / "1.log");
  EXPECT_EQ(LogStep::kNothing, *RotateLog(temp / "1.log", 10, 3));
  EXPECT_FALSE(RotateLog(temp / "long/x.log", 10, 3));
}

}  // namespace
}  // namespace berth::cri
