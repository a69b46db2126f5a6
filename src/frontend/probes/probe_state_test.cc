#include "frontend/probes/probe_state.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace berth::probes {
namespace {

using std::chrono::seconds;

os::MonoTime At(int s) { return os::MonoTime(seconds(s)); }

Probe WithThresholds(int successes, int failures) {
  Probe out;
  out.success_threshold = successes;
  out.failure_threshold = failures;
  out.period_s = 10;
  return out;
}

TEST(ProbeStateTest, FailuresInARowCountAndASuccessStartsThemOver) {
  ProbeState state(WithThresholds(1, 3), At(0));
  EXPECT_EQ(std::nullopt, state.Take(false));
  EXPECT_EQ(std::nullopt, state.Take(false));
  EXPECT_EQ(true, state.Take(true));
  EXPECT_EQ(std::nullopt, state.Take(false));
  EXPECT_EQ(std::nullopt, state.Take(false));
  EXPECT_EQ(false, state.Take(false));
  EXPECT_EQ(false, state.Take(false));
}

// The rule as it is written: the last n answers are all the same.
TEST(ProbeStateTest, AgreesWithLookingAtAllAnswers) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const int successes = 1 + static_cast<int>(random() % 4);
    const int failures = 1 + static_cast<int>(random() % 4);
    ProbeState state(WithThresholds(successes, failures), At(0));
    std::vector<bool> answers;
    for (int i = 0; i < 60; ++i) {
      answers.push_back(random() % 3 != 0);
      const int wanted = answers.back() ? successes : failures;
      bool all = static_cast<int>(answers.size()) >= wanted;
      for (int k = 0; all && k < wanted; ++k)
        all = answers[answers.size() - 1 - static_cast<std::size_t>(k)] == answers.back();
      EXPECT_EQ(all ? std::optional<bool>(answers.back()) : std::nullopt, state.Take(answers.back()));
    }
  }
}

TEST(ProbeStateTest, IsDueEachPeriodAndDoesNotCatchUp) {
  ProbeState state(WithThresholds(1, 1), At(5));
  EXPECT_EQ(At(5), state.due());
  state.Asked(At(6));
  EXPECT_EQ(At(15), state.due());
  state.Asked(At(24));
  EXPECT_EQ(At(25), state.due());
  state.Asked(At(100));
  EXPECT_EQ(At(110), state.due());
}

}  // namespace
}  // namespace berth::probes
