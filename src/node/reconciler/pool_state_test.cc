#include "node/reconciler/pool_state.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <variant>
#include <vector>

namespace berth::reconciler {
namespace {

os::MonoTime Second(int s) { return os::MonoTime(std::chrono::seconds(s)); }

struct PoolStateText {
  std::string operator()(const InForce&) const { return "in force"; }
  std::string operator()(const InForceNarrowed&) const { return "in force, narrowed"; }
  std::string operator()(const PoolDue& due) const { return "due" + Text(due.tries); }
  std::string operator()(const PoolPostponed& postponed) const {
    const auto until = std::chrono::duration_cast<std::chrono::seconds>(postponed.until.time_since_epoch());
    return "at " + std::to_string(until.count()) + Text(postponed.tries);
  }
  static std::string Text(const PoolTries& tries) {
    return (tries.looks == 0 ? "" : ", looks " + std::to_string(tries.looks)) +
           (tries.problem.empty() ? "" : ", " + tries.problem);
  }
};

struct PoolStateRow {
  PoolState state;
  std::vector<std::string> after;  // each of the events; "": the state as it was
};

TEST(PoolStateTest, EveryEventInEveryState) {
  const std::vector<PoolEvent> events = {
      pool_event::Change(),
      pool_event::Change{Second(5)},
      pool_event::Again(),
      pool_event::Narrow(),
      pool_event::Applied(),
      pool_event::Postpone{Second(6)},
      pool_event::LookAgain{Second(7)},
      pool_event::Fail{.until = Second(8), .problem = "no"},
  };
  const PoolTries tried{.looks = 2, .problem = "busy"};
  const std::vector<PoolStateRow> rows = {
      {PoolDue(), {"", "at 5", "", "", "in force", "at 6", "at 7, looks 1", "at 8, no"}},
      {PoolDue{tried},
       {"", "at 5, looks 2, busy", "", "", "in force", "at 6, looks 2, busy", "at 7, looks 3, busy", "at 8, no"}},
      {PoolPostponed{.tries = tried, .until = Second(9)},
       {"due, looks 2, busy", "at 5, looks 2, busy", "due, looks 2, busy", "", "in force", "at 6, looks 2, busy",
        "at 7, looks 3, busy", "at 8, no"}},
      {InForce(), {"due", "at 5", "", "in force, narrowed", "", "", "", ""}},
      {InForceNarrowed(), {"due", "at 5", "", "", "", "", "", ""}},
  };
  for (const PoolStateRow& row : rows) {
    ASSERT_EQ(row.after.size(), events.size());
    for (std::size_t i = 0; i < events.size(); ++i) {
      const std::string before = std::visit(PoolStateText(), row.state);
      SCOPED_TRACE(before + ", event " + std::to_string(i));
      const PoolState after = Follow(row.state, events[i]);
      EXPECT_EQ(std::visit(PoolStateText(), after), row.after[i].empty() ? before : row.after[i]);
      EXPECT_TRUE(!row.after[i].empty() || after == row.state);
    }
  }
}

}  // namespace
}  // namespace berth::reconciler
