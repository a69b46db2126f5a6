#include "berth/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "testing/fixtures.h"

namespace berth {
namespace {

using testing::HasSubstr;

TEST(ReplayTest, RecordedCasesHaveTheSameAnswersAsThen) {
  const auto report = ReplayFile(testkit::SourcePath("tests/golden/trace-unsafe.jsonl.gz"));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_GT(report->passed, 0);
  EXPECT_EQ(0, report->failed) << report->text;
  EXPECT_THAT(report->text, HasSubstr(std::to_string(report->passed) + " passed, 0 failed\n"));
}

TEST(ReplayTest, OtherAnswersAndLinesThatAreNoCaseAreCounted) {
  const testkit::TempDir temp;
  std::ofstream(temp / "cases.jsonl") << R"({"case": {"kind": "merge"}})" << "\nnonsense\n";
  const auto report = ReplayFile(temp / "cases.jsonl");
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(0, report->passed);
  EXPECT_EQ(2, report->failed);
  EXPECT_THAT(report->text, HasSubstr("cases.jsonl:2: "));
}

TEST(ReplayTest, AFileThatCannotBeReadIsAnError) {
  const auto none = ReplayFile("/nonexistent/cases.jsonl");
  ASSERT_FALSE(none);
  EXPECT_EQ(Code::kNotFound, none.error().code);
  const testkit::TempDir temp;
  const std::string whole = testkit::ReadText(testkit::SourcePath("tests/golden/take.jsonl.gz"));
  std::ofstream(temp / "cut.jsonl.gz", std::ios::binary) << whole.substr(0, whole.size() / 2);
  const auto cut = ReplayFile(temp / "cut.jsonl.gz");
  ASSERT_FALSE(cut);
  EXPECT_EQ(Code::kCorrupt, cut.error().code);
}

}  // namespace
}  // namespace berth
