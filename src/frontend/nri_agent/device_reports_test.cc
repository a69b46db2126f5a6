#include "frontend/nri_agent/device_reports.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "testing/fixtures.h"
#include "testing/queued_executor.h"

namespace berth::nri_agent {
namespace {

struct DeviceReportsTest : ::testing::Test {
  void Open() {
    reports.emplace(
        executor, clock,
        DeviceSource{.of_pod = [this](const std::string&, const std::string&, os::Millis) -> Result<PodDevices> {
                       if (!problem.empty()) return Fail(code, problem);
                       return PodDevices{{"app", {}}};
                     },
                     .of_all = [this](os::Millis) -> Result<DevicesByPod> {
                       if (!problem.empty()) return Fail(code, problem);
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
  Code code = Code::kTimeout;
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

/// A kubelet that begins later than berthd, and one that was asked too much at once.
TEST_F(DeviceReportsTest, AfterAnErrorThatTookNoTimePodsAreAskedAboutAsBefore) {
  for (const Code quick : {Code::kUnreachable, Code::kExhausted}) {
    Open();
    told.clear();
    code = quick;
    problem = "no";
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(Ask());
      executor.RunAll();
      EXPECT_EQ(clock.Now() + os::Millis(5'000), reports->next_try());
    }
    EXPECT_EQ(1U, told.size());
    problem.clear();
    EXPECT_TRUE(Ask());
    executor.RunAll();
    EXPECT_EQ("", reports->problem());
    EXPECT_EQ(2U, told.size());
    EXPECT_EQ(clock.Now(), reports->next_try()) << "what was missed is asked for";
    EXPECT_TRUE(AskForAll()) << "it is worth a wait";
    executor.RunAll();
    EXPECT_EQ(os::MonoTime::max(), reports->next_try());
  }
}

TEST_F(DeviceReportsTest, QuestionsThatFailTogetherDoNotMakeThePauseLonger) {
  Open();
  problem = "no answer in time";
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(Ask());
  const os::MonoTime next = clock.Now() + os::Millis(5'000);
  while (executor.RunOne()) {
    EXPECT_EQ(next, reports->next_try());
    clock.Advance(os::Millis(200));
  }
  EXPECT_EQ(4, failures);
  EXPECT_FALSE(Ask());
  AskForAll();
  executor.RunAll();
  EXPECT_EQ(clock.Now() + os::Millis(10'000), reports->next_try());
}

TEST_F(DeviceReportsTest, WhoAsksForAllSoonAsksOnceWithTheOthers) {
  Open();
  reports->AskForAllSoon();
  const os::MonoTime next = clock.Now() + os::Millis(5'000);
  clock.Advance(os::Millis(1'000));
  reports->AskForAllSoon();
  EXPECT_EQ(next, reports->next_try());
  AskForAll();
  reports->AskForAllSoon();
  EXPECT_EQ(os::MonoTime::max(), reports->next_try()) << "one question at a time";
  executor.RunAll();
  EXPECT_EQ(clock.Now() + os::Millis(5'000), reports->next_try())
      << "what came behind the question may lack in its answer";
}

TEST_F(DeviceReportsTest, WhileThereIsNoAnswerNobodyAsksForAllSooner) {
  Open();
  problem = "no answer in time";
  for (int i = 0; i < 2; ++i) {
    AskForAll();
    executor.RunAll();
  }
  reports->AskForAllSoon();
  EXPECT_EQ(clock.Now() + os::Millis(10'000), reports->next_try());
}

TEST_F(DeviceReportsTest, PathsAreToldAsPeopleKnowThem) {
  Open();
  problem = "connect to /proc/1/root/var/lib/kubelet: no; call at /proc/1/root/var/lib/kubelet";
  Ask();
  executor.RunAll();
  ASSERT_EQ(1U, told.size());
  EXPECT_TRUE(told[0].ends_with(": connect to /var/lib/kubelet: no; call at /var/lib/kubelet")) << told[0];
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
}  // namespace berth::nri_agent
