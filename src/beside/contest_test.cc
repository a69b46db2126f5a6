#include "beside/contest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "testing/fixtures.h"

namespace berth::beside {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct ContestTest : ::testing::Test {
  void Write(const std::string& name, const std::string& text) { std::ofstream(folder / name) << text; }
  void WriteStatic() {
    Write("cpu_manager_state", R"({"policyName":"static","defaultCpuSet":"0-1","entries":{},"checksum":0})");
  }
  testkit::TempDir folder;
  const os::MonoTime now{std::chrono::hours(1)};
};

TEST_F(ContestTest, AKubeletThatGivesNothingIsNoContest) {
  Contest contest(true);
  EXPECT_FALSE(contest.Take(ReadKubeletPlaces("")));
  EXPECT_FALSE(contest.Take(ReadKubeletPlaces(folder / "none")));
  Write("cpu_manager_state", R"({"policyName":"none","defaultCpuSet":"","checksum":0})");
  EXPECT_FALSE(contest.Take(ReadKubeletPlaces(folder.path())));
  EXPECT_FALSE(contest.aside());
  EXPECT_THAT(contest.Warnings(now), IsEmpty());
}

TEST_F(ContestTest, OneWithTheStaticPolicyIsNamedWithTheCure) {
  WriteStatic();
  Contest keeps(false);
  EXPECT_TRUE(keeps.Take(ReadKubeletPlaces(folder.path())));
  EXPECT_FALSE(keeps.Take(ReadKubeletPlaces(folder.path())));
  EXPECT_FALSE(keeps.aside());
  EXPECT_THAT(keeps.Problem(), HasSubstr(folder / "cpu_manager_state"));
  EXPECT_THAT(keeps.Problem(), HasSubstr("both write the same cpusets"));
  EXPECT_THAT(keeps.Problem(), HasSubstr("remove that file"));
  Contest yields(true);
  EXPECT_TRUE(yields.Take(ReadKubeletPlaces(folder.path())));
  EXPECT_TRUE(yields.aside());
  EXPECT_THAT(yields.Problem(), HasSubstr("leaves all containers alone"));
}

TEST_F(ContestTest, AFileThatCannotBeReadIsNoReasonToStepAside) {
  Write("cpu_manager_state", "junk");
  Contest contest(true);
  EXPECT_TRUE(contest.Take(ReadKubeletPlaces(folder.path())));
  EXPECT_FALSE(contest.aside());
  EXPECT_THAT(contest.Warnings(now), ElementsAre(HasSubstr("is not known")));
}

TEST_F(ContestTest, WhoWantsOtherCpusIsToldOfForAWhile) {
  Contest contest(false);
  contest.Note(Contested::kWanted, "container a on CPUs 3", now);
  contest.Note(Contested::kWanted, "container b on CPUs 4", now);
  EXPECT_THAT(contest.Warnings(now), ElementsAre(HasSubstr("(2 times, last: container b on CPUs 4)")));
  EXPECT_THAT(contest.Warnings(now + std::chrono::hours(1)), IsEmpty());
}

TEST_F(ContestTest, WhoWritesToTheKernelIsToldOfForAWhile) {
  Contest contest(false);
  contest.NoteRepaired(0, now);
  EXPECT_THAT(contest.Warnings(now), IsEmpty());
  contest.NoteRepaired(3, now);
  contest.NoteRepaired(3, now + std::chrono::minutes(9));
  EXPECT_THAT(contest.Warnings(now + std::chrono::minutes(9)), ElementsAre(HasSubstr("3 of them were put right")));
  EXPECT_THAT(contest.Warnings(now + std::chrono::minutes(11)), IsEmpty());
}

}  // namespace
}  // namespace berth::beside
