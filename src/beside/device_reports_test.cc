#include "beside/device_reports.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "testing/fixtures.h"
#include "testing/queued_executor.h"

namespace berth::beside {
namespace {

struct DeviceReportsTest : ::testing::Test {
  void Open() {
    reports.emplace(
        executor, clock,
        DeviceSource{.of_pod = [this](const std::string&, const std::string&, os::Millis) -> Result<PodDevices> {
                       if (!problem.empty()) return Fail(Code::kTimeout, problem);
                       return PodDevices{{"app", {}}};
                     },
                     .of_all = [this](os::Millis) -> Result<DevicesByPod> {
                       if (!problem.empty()) return Fail(Code::kTimeout, problem);
                       return DevicesByPod();
                     }},
        [this](bool warning, const std::string& message) { told.push_back((warning ? "warning: " : "") + message); });
  }
  bool Ask() {
    return reports->Ask("default", "web",
                        [this](std::optional<PodDevices> devices) { ++(devices ? answers : failures); });
  }
  bool AskForAll() {
    return reports->AskForAll([this](std::optional<DevicesByPod> all) { ++(all ? answers : failures); });
  }

  testkit::QueuedExecutor executor;
  testkit::ManualClock clock;
  std::string problem;
  std::vector<std::string> told;
  int answers = 0;
  int failures = 0;
  std::optional<DeviceReports> reports;
};

TEST_F(DeviceReportsTest, AnAnswerComesLaterAndOnce) {
  Open();
  EXPECT_TRUE(Ask());
  EXPECT_EQ(0, answers);
  executor.RunAll();
  EXPECT_EQ(1, answers);
  EXPECT_EQ(os::MonoTime::max(), reports->next_try());
  EXPECT_TRUE(told.empty());
}

TEST_F(DeviceReportsTest, WithoutASourceNobodyIsAsked) {
  reports.emplace(executor, clock, DeviceSource(), [](bool, const std::string&) {});
  EXPECT_FALSE(Ask());
  EXPECT_FALSE(AskForAll());
  EXPECT_EQ(0U, executor.waiting());
}

TEST_F(DeviceReportsTest, WhileThereIsNoAnswerItIsLookedForWithGrowingPausesAndToldOnce) {
  Open();
  problem = "no answer in time";
  EXPECT_TRUE(Ask());
  executor.RunAll();
  EXPECT_EQ(1, failures);
  EXPECT_FALSE(Ask()) << "nobody waits for it again";
  for (const int seconds : {5, 10, 20, 40, 60, 60}) {
    EXPECT_EQ(clock.Now() + os::Millis(seconds * 1000), reports->next_try());
    clock.Advance(os::Millis(seconds * 1000));
    EXPECT_FALSE(AskForAll()) << "nobody is to wait";
    EXPECT_EQ(os::MonoTime::max(), reports->next_try()) << "until that is over";
    executor.RunAll();
  }
  ASSERT_EQ(1U, told.size());
  EXPECT_EQ("warning: " + reports->problem(), told[0]);
  EXPECT_TRUE(told[0].ends_with("without regard to them: no answer in time")) << told[0];

  problem.clear();
  AskForAll();
  executor.RunAll();
  EXPECT_EQ("", reports->problem());
  EXPECT_EQ(2U, told.size());
  EXPECT_TRUE(Ask());
}

TEST_F(DeviceReportsTest, WhoIsGoneHearsNothing) {
  Open();
  Ask();
  AskForAll();
  reports.reset();
  executor.RunAll();
  EXPECT_EQ(0, answers + failures);
}

}  // namespace
}  // namespace berth::beside
