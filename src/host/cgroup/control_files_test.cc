#include "host/cgroup/control_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace berth::cgroup {
namespace {

using std::chrono::microseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ControlFilesTest, CpuMaxRoundTrips) {
  for (const char* text : {"max 100000", "20000 100000", "1000 1000000"}) {
    const auto value = ParseCpuMax(text);
    ASSERT_TRUE(value) << text;
    EXPECT_EQ(text, FormatCpuMax(*value));
  }
  EXPECT_EQ(*ParseCpuMax("20000 100000\n"), (CpuMax{.quota = microseconds(20000), .period = microseconds(100000)}));
}

TEST(ControlFilesTest, CpuMaxRefusesJunk) {
  for (const char* text : {"", "\n", "max", "max 0", "max -1", "0 100000", "-1 100000", "1 2 3", "max  100000",
                           " max 1", "1e3 100000", "99999999999999999999 100000", "20000 100000\n\n"}) {
    const auto value = ParseCpuMax(text);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(Code::kInvalid, value.error().code) << text;
  }
}

TEST(ControlFilesTest, NoLimitHasThreeSpellings) {
  EXPECT_EQ(Bytes{-1}, *ParseLimit("max\n"));
  EXPECT_EQ(Bytes{-1}, *ParseLimit("-1"));
  EXPECT_EQ(Bytes{-1}, *ParseLimit("9223372036854771712\n"));
  EXPECT_EQ(Bytes{-1}, *ParseLimit("9223372036854710272")) << "with pages of 64 KiB";
  EXPECT_EQ(Bytes{-1}, *ParseLimit("18446744073709551615"));
  EXPECT_EQ(GiB(1 << 20), *ParseLimit("1125899906842624"));
  EXPECT_EQ("max", FormatLimit({-1}, true));
  EXPECT_EQ("-1", FormatLimit({-1}, false));
  EXPECT_EQ("4096", FormatLimit({4096}, true));
}

TEST(ControlFilesTest, LimitRefusesJunk) {
  for (const char* text : {"", "-2", "1Gi", "4096 ", "+1", "18446744073709551616", "MAX"})
    EXPECT_FALSE(ParseLimit(text));
}

TEST(ControlFilesTest, PidsMaxHasNoZero) {
  EXPECT_EQ(-1, *ParsePidsMax("max\n"));
  EXPECT_EQ(7, *ParsePidsMax("7"));
  EXPECT_FALSE(ParsePidsMax("-1"));
  EXPECT_EQ("max", FormatPidsMax(-1));
  EXPECT_EQ("1", FormatPidsMax(0));
}

TEST(ControlFilesTest, PidsAreSortedOnceAndForeignOnesLeftOut) {
  EXPECT_THAT(*ParsePids("30\n4\n30\n0\n"), ElementsAre(4, 30));
  EXPECT_THAT(*ParsePids(""), IsEmpty());
  EXPECT_FALSE(ParsePids("1\nx\n"));
  EXPECT_FALSE(ParsePids("-5\n"));
}

TEST(ControlFilesTest, HugePageNamesAreTheKernels) {
  EXPECT_EQ("2MB", HugePageName(MiB(2)));
  EXPECT_EQ("1GB", HugePageName(GiB(1)));
  EXPECT_EQ("64KB", HugePageName(KiB(64)));
  EXPECT_EQ(MiB(2), *ParseHugePageDir("hugepages-2048kB"));
  for (const char* name : {"hugepages-kB", "hugepages-0kB", "hugepages-2M", "x", "", "hugepages-99999999999999kB"})
    EXPECT_FALSE(ParseHugePageDir(name)) << name;
}

}  // namespace
}  // namespace berth::cgroup
