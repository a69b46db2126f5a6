// Recorded cases and captured machines through the real programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/run_berth.h"
#include "testing/fixtures.h"

namespace berth {
namespace {

using testing::ContainsRegex;

constexpr const char* kSets[] = {"trace", "merge", "take", "trace-restart", "trace-unsafe"};

/// The recorded answers in `file` must all be ours.
void ExpectAllPass(const std::string& file) {
  const Ran ran = RunConformance({"--check", file});
  const auto lines = Lines(ran.out);
  ASSERT_FALSE(lines.empty()) << ran.err;
  EXPECT_THAT(lines.back(), ContainsRegex("^[1-9][0-9]* passed, 0 failed$"));
  EXPECT_EQ(ran.status, 0) << lines.front() << "\n" << ran.err;
  if (std::filesystem::path(file).filename().string().starts_with("trace")) {
    EXPECT_THAT(lines, testing::Contains(ContainsRegex("^own node: [1-9][0-9]* of [1-9][0-9]* steps compared$")));
  }
}

class RecordedTest : public testing::TestWithParam<const char*> {};

TEST_P(RecordedTest, TheSampleGivesTheKubeletsAnswers) {
  ExpectAllPass(testkit::SourcePath(std::string("tests/golden/") + GetParam() + ".jsonl.gz"));
}

TEST_P(RecordedTest, TheWholeSetGivesTheKubeletsAnswers) {
  const auto file = testkit::SharedPath(std::string("golden/") + GetParam() + ".jsonl.gz");
  if (!file) GTEST_SKIP() << "the folder of all recorded cases is not here; set BERTH_SHARED to have them checked";
  ExpectAllPass(*file);
}

INSTANTIATE_TEST_SUITE_P(Sets, RecordedTest, testing::ValuesIn(kSets), [](const auto& set) {
  std::string name = set.param;
  std::erase(name, '-');
  return name;
});

/// A fixed sequence of pods on every captured machine, against the reviewed texts in tests/golden/machines-sim.
TEST(CapturedMachinesTest, PodsArePlacedAsReviewed) {
  const auto folder = testkit::SharedPath("machines");
  if (!folder) GTEST_SKIP() << "the folder of captured machines is not here; set BERTH_SHARED to have them tried";
  const auto input = [](const char* name) {
    return testkit::SourcePath(std::string("tests/golden/machines-sim/") + name);
  };
  int machines = 0;
  for (const auto& entry : std::filesystem::directory_iterator(*folder)) {
    const std::string name = entry.path().filename().string();
    const std::size_t end = name.find(".tar");
    if (end == std::string::npos) continue;
    const Ran ran = RunBerth({"simulate", "--machine", entry.path().string(), "--config", input("kubelet.yaml"),
                              input("pods.yaml"), "remove:one", input("more.yaml")});
    testkit::ExpectGolden("tests/golden/machines-sim/" + name.substr(0, end) + ".txt", Shown(ran));
    ++machines;
  }
  EXPECT_GT(machines, 0);
}

}  // namespace
}  // namespace berth
