#include "frontend/nri_agent/launched.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "rpc/nri/launching_runtime_test.h"

namespace berth::nri_agent {
namespace {

TEST(LeaveLaunchedTest, IsTakenInAndLeavesByItself) {
  nri::LaunchingRuntime runtime;
  auto left = std::async(std::launch::async, [&] { return LeaveLaunched(runtime.launch()); });
  EXPECT_TRUE(runtime.TakeIn());
  const auto result = left.get();
  EXPECT_TRUE(result) << result.error().message;
  EXPECT_TRUE(runtime.Left());
}

TEST(LeaveLaunchedTest, StaysAsLongAsTheRuntimeIsAtItsAnswer) {
  nri::LaunchingRuntime runtime;
  constexpr os::Millis kTenMinutes{600'000};  // longer than a test may take
  auto left = std::async(std::launch::async, [&] { return LeaveLaunched(runtime.launch(), kTenMinutes); });
  EXPECT_TRUE(runtime.TakeIn());
  EXPECT_FALSE(runtime.HasLeft());
  runtime.Break();
  EXPECT_TRUE(left.get());
}

TEST(LeaveLaunchedTest, SaysWhyTheRuntimeDidNotTakeItIn) {
  const nri::LaunchingRuntime runtime("there is one already");
  const auto left = LeaveLaunched(runtime.launch());
  ASSERT_FALSE(left);
  EXPECT_EQ(Code::kTimeout, left.error().code);
  EXPECT_THAT(left.error().message, testing::HasSubstr("there is one already"));
}

TEST(LeaveLaunchedTest, DoesNotWaitForARuntimeThatIsGone) {
  nri::LaunchingRuntime runtime;
  runtime.Break();
  constexpr os::Millis kTenMinutes{600'000};  // longer than a test may take
  EXPECT_FALSE(LeaveLaunched(runtime.launch(), os::Millis(3'000), kTenMinutes));
}

}  // namespace
}  // namespace berth::nri_agent
