#include "runtime/lifecycle/container_attempt.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <variant>
#include <vector>

namespace berth::runtime {
namespace {

using attempt_event::HasToEnd;
using attempt_event::Seen;

constexpr HooksAndProbes kAll{.post_start = true, .pre_stop = true, .startup = true, .readiness = true};

os::MonoTime Second(int s) { return os::MonoTime(std::chrono::seconds(s)); }

std::string Text(os::MonoTime time) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count());
}

ContainerStatus StatusOf(int attempt, bool running) {
  ContainerStatus status;
  status.attempt = attempt;
  status.state = running ? ContainerState::kRunning : ContainerState::kExited;
  return status;
}

struct ProgressText {
  std::string operator()(const InPostStart&) const { return "hook"; }
  std::string operator()(const InStartup&) const { return "startup"; }
  std::string operator()(const Up& up) const { return up.readiness_says_so ? "up ready" : "up"; }
};

struct StoppingText {
  std::string operator()(const NotAsked&) const { return ""; }
  std::string operator()(const AskedToEnd& asked) const { return ", asked " + Text(asked.at) + Hook(asked); }
  std::string operator()(const AskedEarlier& asked) const {
    return ", asked earlier " + Text(asked.before.at) + Hook(asked.before);
  }
  std::string operator()(const BeingKilled& killed) const {
    return ", killed " + Text(killed.first) + "-" + Text(killed.last) + Hook(killed.before);
  }
  static std::string Hook(const AskedToEnd& asked) {
    return asked.pre_stop_over ? " hook over " + Text(*asked.pre_stop_over) : "";
  }
};

/// "1 hook", "1 up ready, by 9, asked 3", "1 up, ended 12", ...
std::string DescribeAttempt(const AttemptState& state) {
  const Attempt* const attempt = AttemptOf(state);
  if (attempt == nullptr) return "never";
  std::string out = std::to_string(attempt->status.attempt) + " " + std::visit(ProgressText(), attempt->progress);
  if (attempt->end_by) out += ", by " + Text(*attempt->end_by);
  out += std::visit(StoppingText(), attempt->stopping);
  if (const auto end = EndOf(state))
    out += (std::holds_alternative<EndedAttempt>(state) ? ", ended " : ", swept ") + Text(*end);
  return out;
}

AttemptState RunningIn(Progress progress, Stopping stopping = NotAsked()) {
  return RunningAttempt{{.status = StatusOf(1, true), .progress = progress, .stopping = stopping}};
}

const std::vector<AttemptEvent> kAttemptEvents{
    Seen{StatusOf(1, true), Second(20)},
    Seen{StatusOf(1, false), Second(20)},
    Seen{StatusOf(2, true), Second(20)},
    Seen{StatusOf(0, false), Second(20)},
    attempt_event::Found{StatusOf(1, false), Second(5)},
    attempt_event::Kept{{.container = "c",
                         .attempt = 1,
                         .term_at = Second(3),
                         .ended_at = Second(4),
                         .started = true,
                         .ready = true,
                         .end_by = Second(9)}},
    attempt_event::PostStartOver(),
    attempt_event::StartupSucceeded(),
    attempt_event::ReadinessSaid{true},
    attempt_event::Unhealthy{Second(30)},
    HasToEnd{.end = Second(15), .now = Second(20)},
    attempt_event::PreStopOver{Second(20)},
    attempt_event::Sweep(),
};

struct AttemptRow {
  AttemptState state;
  std::vector<std::string> after;  // each of kAttemptEvents; "": the state as it was
};

TEST(ContainerAttemptTest, EveryEventInEveryState) {
  const Up up{.startup_said_so = true};
  const AskedToEnd asked{.at = Second(10)};
  const Attempt ended{.status = StatusOf(1, false), .progress = up, .stopping = {}};
  const std::string kept = "1 up ready, by 9, asked earlier 3";
  const std::vector<AttemptRow> rows = {
      {NeverStarted(),
       {"1 hook", "1 hook, ended 20", "2 hook", "0 hook, ended 20", "1 startup, ended 5", "", "", "", "", "", "", "",
        ""}},
      {RunningIn(InPostStart()),
       {"", "1 hook, ended 20", "2 hook", "", "1 startup, ended 5", kept, "1 startup", "", "", "1 hook, by 30",
        "1 hook, asked 20", "", ""}},
      {RunningIn(InStartup()),
       {"", "1 startup, ended 20", "2 hook", "", "1 startup, ended 5", kept, "", "1 up", "", "1 startup, by 30",
        "1 startup, asked 20", "", ""}},
      {RunningIn(up),
       {"", "1 up, ended 20", "2 hook", "", "1 up, ended 5", kept, "", "", "1 up ready", "1 up, by 30",
        "1 up, asked 20", "", ""}},
      {RunningIn(up, asked),
       {"", "1 up, asked 10, ended 20", "2 hook", "", "1 up, asked 10, ended 5", kept, "", "", "1 up ready, asked 10",
        "1 up, by 30, asked 10", "1 up, killed 20-20", "1 up, asked 10 hook over 20", ""}},
      {RunningIn(up, AskedEarlier{asked}),
       {"", "1 up, asked earlier 10, ended 20", "2 hook", "", "1 up, asked earlier 10, ended 5", kept, "", "",
        "1 up ready, asked earlier 10", "1 up, by 30, asked earlier 10", "1 up, killed 20-20",
        "1 up, asked earlier 10 hook over 20", ""}},
      {RunningIn(up, BeingKilled{.before = asked, .first = Second(18), .last = Second(18)}),
       {"", "1 up, killed 18-18, ended 20", "2 hook", "", "1 up, killed 18-18, ended 5", kept, "", "",
        "1 up ready, killed 18-18", "1 up, by 30, killed 18-18", "1 up, killed 18-20",
        "1 up, killed 18-18 hook over 20", ""}},
      {EndedAttempt{ended, Second(12)},
       {"1 up", "", "2 hook", "", "1 up, ended 5", "1 up ready, by 9, ended 4", "", "", "", "", "", "",
        "1 up, swept 12"}},
      {SweptAttempt{ended, Second(12)},
       {"1 up", "", "2 hook", "", "1 up, swept 5", "1 up ready, by 9, swept 4", "", "", "", "", "", "", ""}},
  };
  for (const AttemptRow& row : rows) {
    ASSERT_EQ(row.after.size(), kAttemptEvents.size());
    for (std::size_t i = 0; i < kAttemptEvents.size(); ++i) {
      SCOPED_TRACE(DescribeAttempt(row.state) + ", event " + std::to_string(i));
      const AttemptState after = Follow(row.state, kAttemptEvents[i], kAll);
      EXPECT_EQ(DescribeAttempt(after), row.after[i].empty() ? DescribeAttempt(row.state) : row.after[i]);
      EXPECT_TRUE(!row.after[i].empty() || after == row.state);
    }
  }
}

TEST(ContainerAttemptTest, WhatHasNoHooksAndNoStartupProbeIsUpAtOnce) {
  AttemptState state = Follow(NeverStarted(), Seen{StatusOf(0, true), Second(1)}, {});
  EXPECT_EQ(DescribeAttempt(state), "0 up");
  EXPECT_FALSE(std::get<Up>(AttemptOf(state)->progress).startup_said_so);
  state = Follow(state, attempt_event::Found{StatusOf(0, true), Second(1)}, {.post_start = true});
  EXPECT_EQ(DescribeAttempt(state), "0 up");
  state = Follow(state, HasToEnd{.end = Second(4), .now = Second(3)}, {});
  EXPECT_EQ(DescribeAttempt(state), "0 up, asked 3");
  EXPECT_EQ(NextKill(AttemptOf(state)->stopping, Second(4), {}), Second(5)) << "two seconds after it was asked";
  EXPECT_EQ(NextKill(AttemptOf(state)->stopping, Second(9), {}), Second(9));
}

TEST(ContainerAttemptTest, AKeptAttemptGoesOnWhereItsHookOrItsStartupProbeWas) {
  const auto after = [](const attempt_event::Kept& kept, const HooksAndProbes& has) {
    return DescribeAttempt(Follow(RunningIn(Up()), kept, has));
  };
  const attempt_event::Kept in_hook{{.container = "c", .attempt = 1, .post_started = false}};
  const attempt_event::Kept in_startup{{.container = "c", .attempt = 1}};
  EXPECT_EQ(after(in_hook, kAll), "1 hook") << "its hook runs again";
  EXPECT_EQ(after(in_hook, {.startup = true}), "1 startup") << "the hook has gone from the manifest";
  EXPECT_EQ(after(in_hook, {}), "1 up");
  EXPECT_EQ(after(in_startup, kAll), "1 startup");
  EXPECT_EQ(after(in_startup, {.post_start = true}), "1 up");
}

TEST(ContainerAttemptTest, WhatDoesNotDieIsKilledEachSecondAndLaterEachTen) {
  const auto killed = [](int first, int last) {
    return NextKill(BeingKilled{.before = {}, .first = Second(first), .last = Second(last)}, Second(1), {});
  };
  EXPECT_EQ(killed(10, 10), Second(11));
  EXPECT_EQ(killed(10, 19), Second(20));
  EXPECT_EQ(killed(10, 20), Second(30));
}

}  // namespace
}  // namespace berth::runtime
