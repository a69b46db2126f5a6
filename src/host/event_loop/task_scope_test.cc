#include "host/event_loop/task_scope.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "testing/queued_executor.h"

namespace berth::event_loop {
namespace {

TEST(TaskScopeTest, GivesAnswersToItsOwner) {
  testkit::QueuedExecutor executor;
  const TaskScope tasks(executor);
  std::string got;
  tasks.Submit<std::unique_ptr<std::string>>(
      "a", []() -> Result<std::unique_ptr<std::string>> { return std::make_unique<std::string>("answer"); },
      [&](Result<std::unique_ptr<std::string>> answer) { got = answer ? **answer : "error"; });
  executor.RunAll();
  EXPECT_EQ("answer", got);
}

TEST(TaskScopeTest, AJobStillRunsWhenItsOwnerIsGoneAndNobodyHearsOfIt) {
  testkit::QueuedExecutor executor;
  auto tasks = std::make_unique<TaskScope>(executor);
  bool ran = false;
  bool heard = false;
  tasks->Submit<void>(
      "a",
      [&]() -> Result<void> {
        ran = true;
        return {};
      },
      [&](const Result<void>&) { heard = true; });
  tasks.reset();
  executor.RunAll();
  EXPECT_TRUE(ran);
  EXPECT_FALSE(heard);
}

TEST(TaskScopeTest, AnOwnerMayGoWhileItTakesAnAnswer) {
  testkit::QueuedExecutor executor;
  std::optional<TaskScope> tasks(std::in_place, executor);
  int heard = 0;
  const auto take = [&](const Result<int>&) {
    ++heard;
    tasks.reset();
  };
  for (int i = 0; i < 2; ++i) tasks->Submit<int>("a", []() -> Result<int> { return 0; }, take);
  executor.RunAll();
  EXPECT_EQ(1, heard);
}

TEST(TaskScopeTest, ScopedCallbacksEndWithIt) {
  testkit::QueuedExecutor executor;
  std::optional<TaskScope> tasks(std::in_place, executor);
  int sum = 0;
  const std::function<void(int)> add = tasks->Scoped([&](int value) { sum += value; });
  add(1);
  tasks.reset();
  add(2);
  EXPECT_EQ(1, sum);
}

}  // namespace
}  // namespace berth::event_loop
