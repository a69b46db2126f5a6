#include "frontend/nri_agent/placement_conflicts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "testing/fixtures.h"

namespace berth::nri_agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct PlacementConflictsTest : ::testing::Test {
  void Write(const std::string& name, const std::string& text) { std::ofstream(folder / name) << text; }
  void WriteStatic() {
    Write("cpu_manager_state", R"({"policyName":"static","defaultCpuSet":"0-1","entries":{},"checksum":0})");
  }
  testkit::TempDir folder;
  const os::MonoTime now{std::chrono::hours(1)};
};

TEST_F(PlacementConflictsTest, AKubeletThatGivesNothingIsNoContest) {
  PlacementConflicts conflicts(true);
  EXPECT_FALSE(conflicts.Take(ReadKubeletPlaces("")));
  EXPECT_FALSE(conflicts.Take(ReadKubeletPlaces(folder / "none")));
  Write("cpu_manager_state", R"({"policyName":"none","defaultCpuSet":"","checksum":0})");
  EXPECT_FALSE(conflicts.Take(ReadKubeletPlaces(folder.path())));
  EXPECT_FALSE(conflicts.aside());
  EXPECT_THAT(conflicts.Warnings(now), IsEmpty());
}

TEST_F(PlacementConflictsTest, OneWithTheStaticPolicyIsNamedWithTheCure) {
  WriteStatic();
  PlacementConflicts keeps(false);
  EXPECT_TRUE(keeps.Take(ReadKubeletPlaces(folder.path())));
  EXPECT_FALSE(keeps.Take(ReadKubeletPlaces(folder.path())));
  EXPECT_FALSE(keeps.aside());
  EXPECT_THAT(keeps.Problem(), HasSubstr(folder / "cpu_manager_state"));
  EXPECT_THAT(keeps.Problem(), HasSubstr("both write the same cpusets"));
  EXPECT_THAT(keeps.Problem(), HasSubstr("remove that file"));
  PlacementConflicts yields(true);
  EXPECT_TRUE(yields.Take(ReadKubeletPlaces(folder.path())));
  EXPECT_TRUE(yields.aside());
  EXPECT_THAT(yields.Problem(), HasSubstr("leaves all containers alone"));
}

TEST_F(PlacementConflictsTest, OfAFileWithDataOnlyDataSaysWhatTheKubeletDoes) {
  constexpr const char* kData =
      R"("data":"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-7\"}","dataChecksum":3294586087})";
  Write("cpu_manager_state", R"({"policyName":"none","defaultCpuSet":"","checksum":1353318690,)" + std::string(kData));
  EXPECT_THAT(ReadKubeletPlaces(folder.path()).files, ElementsAre(folder / "cpu_manager_state"));
  Write("cpu_manager_state",
        R"({"policyName":"none","defaultCpuSet":"","checksum":1353318690,"data":"{}","dataChecksum":1})");
  const KubeletPlaces damaged = ReadKubeletPlaces(folder.path());
  EXPECT_THAT(damaged.files, IsEmpty());
  EXPECT_THAT(damaged.unread, ElementsAre(folder / "cpu_manager_state"));
  EXPECT_THAT(damaged.problem, HasSubstr("dataChecksum"));
}

TEST_F(PlacementConflictsTest, TheNewestFileTellsTheVersionOfTheKubelet) {
  EXPECT_EQ(ReadKubeletPlaces(folder.path()).version, std::nullopt);
  Write("cpu_manager_state", "junk");
  EXPECT_EQ(ReadKubeletPlaces(folder.path()).version, std::nullopt);
  Write("cpu_manager_state", R"({"policyName":"none","defaultCpuSet":"","checksum":1353318690})");
  EXPECT_EQ(ReadKubeletPlaces(folder.path()).version, KubeletVersion::k1_36);
  Write(
      "memory_manager_state",
      R"({"policyName":"None","machineState":{},"checksum":4236770233,"data":"{\"policyName\":\"None\",\"machineState\":{}}","dataChecksum":3093843326})");
  EXPECT_EQ(ReadKubeletPlaces(folder.path()).version, KubeletVersion::k1_37);
}

TEST_F(PlacementConflictsTest, AFileThatCannotBeReadIsNoReasonToStepAside) {
  Write("cpu_manager_state", "junk");
  PlacementConflicts conflicts(true);
  EXPECT_TRUE(conflicts.Take(ReadKubeletPlaces(folder.path())));
  EXPECT_FALSE(conflicts.aside());
  EXPECT_THAT(conflicts.Warnings(now), ElementsAre(HasSubstr("is not known")));
}

TEST_F(PlacementConflictsTest, AFileThatCannotBeReadAnyMoreIsNoReasonToComeBack) {
  WriteStatic();
  PlacementConflicts conflicts(true);
  EXPECT_TRUE(conflicts.Take(ReadKubeletPlaces(folder.path())));
  Write("cpu_manager_state", "junk");
  conflicts.Take(ReadKubeletPlaces(folder.path()));
  EXPECT_TRUE(conflicts.aside());
  conflicts.Take(ReadKubeletPlaces(folder.path()));
  EXPECT_TRUE(conflicts.aside());
  std::filesystem::remove(folder / "cpu_manager_state");
  EXPECT_TRUE(conflicts.Take(ReadKubeletPlaces(folder.path())));
  EXPECT_FALSE(conflicts.aside());
}

TEST_F(PlacementConflictsTest, WhoWantsOtherCpusIsToldOfForAWhile) {
  PlacementConflicts conflicts(false);
  conflicts.Note(PlacementConflict::kWanted, "container a on CPUs 3", now);
  conflicts.Note(PlacementConflict::kWanted, "container b on CPUs 4", now);
  EXPECT_THAT(conflicts.Warnings(now), ElementsAre(HasSubstr("(2 times, last: container b on CPUs 4)")));
  EXPECT_THAT(conflicts.Warnings(now + std::chrono::hours(1)), IsEmpty());
}

TEST_F(PlacementConflictsTest, WhoWritesToTheKernelIsToldOfForAWhile) {
  PlacementConflicts conflicts(false);
  conflicts.NoteRepaired(0, now);
  EXPECT_THAT(conflicts.Warnings(now), IsEmpty());
  conflicts.NoteRepaired(3, now);
  conflicts.NoteRepaired(3, now + std::chrono::minutes(9));
  EXPECT_THAT(conflicts.Warnings(now + std::chrono::minutes(9)), ElementsAre(HasSubstr("3 of them were put right")));
  EXPECT_THAT(conflicts.Warnings(now + std::chrono::minutes(11)), IsEmpty());
}

}  // namespace
}  // namespace berth::nri_agent
