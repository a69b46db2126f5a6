#include "frontend/nri_agent/nri_session.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>

namespace berth::nri_agent {
namespace {

constexpr os::MonoTime kBegin{std::chrono::seconds(1)};
constexpr os::MonoTime kLater{std::chrono::seconds(9)};

/// "joined synchronized, saved", "away outdated", ...
std::string Describe(const NriSession& session) {
  std::string out = session.joined() ? "joined " : session.untold_since() ? "away " : "away, told ";
  if (session.As<NotSynchronized>() != nullptr) out += "not synchronized";
  if (session.As<Synchronizing>() != nullptr) out += "synchronizing";
  if (const auto* const state = session.As<Synchronized>())
    out += state->saved ? "synchronized" : "synchronized, unsaved";
  if (const auto* const state = session.As<Outdated>()) out += state->knew_all ? "outdated, knew all" : "outdated";
  if (const auto* const state = session.As<Aside>()) out += state->holds_places ? "aside, holds places" : "aside";
  return out;
}

using Step = std::function<void(NriSession&)>;
const Step kJoin = [](NriSession& session) { session.Join(); };
const Step kLeave = [](NriSession& session) { session.Leave(kLater); };
const Step kBeginSync = [](NriSession& session) { session.Begin({}); };
const Step kEnd = [](NriSession& session) { session.End(true); };
const Step kEndUnsaved = [](NriSession& session) { session.End(false); };
const Step kAside = [](NriSession& session) { session.StepAside(); };
const Step kBack = [](NriSession& session) { session.StepBack(); };
const Step kTold = [](NriSession& session) { session.NoteTold(); };

struct Row {
  std::vector<Step> way;  // to the state
  std::string state;
  // after Join, Leave, Begin, End(true), End(false), StepAside, StepBack, NoteTold
  std::string join, leave, begin, end, end_unsaved, aside, back, told;
  bool started;
};

// Every state, and what comes of everything that can happen in it.
TEST(NriSessionTest, EveryEventInEveryState) {
  const std::vector<Row> rows = {
      {{},
       "away not synchronized",
       "joined not synchronized",
       "away not synchronized",
       "away synchronizing",
       "away not synchronized",
       "away not synchronized",
       "away aside, holds places",
       "away not synchronized",
       "away, told not synchronized",
       false},
      {{kTold},
       "away, told not synchronized",
       "joined not synchronized",
       "away not synchronized",
       "away, told synchronizing",
       "away, told not synchronized",
       "away, told not synchronized",
       "away, told aside, holds places",
       "away, told not synchronized",
       "away, told not synchronized",
       true},
      {{kJoin},
       "joined not synchronized",
       "joined not synchronized",
       "away not synchronized",
       "joined synchronizing",
       "joined not synchronized",
       "joined not synchronized",
       "joined aside, holds places",
       "joined not synchronized",
       "joined not synchronized",
       false},
      {{kJoin, kBeginSync},
       "joined synchronizing",
       "joined synchronizing",
       "away synchronizing",
       "joined synchronizing",
       "joined synchronized",
       "joined synchronized, unsaved",
       "joined aside, holds places",
       "joined synchronizing",
       "joined synchronizing",
       false},
      {{kJoin, kBeginSync, kLeave},
       "away synchronizing",
       "joined synchronizing",
       "away synchronizing",
       "away synchronizing",
       "away outdated, knew all",
       "away outdated",
       "away aside, holds places",
       "away synchronizing",
       "away, told synchronizing",
       false},
      {{kJoin, kBeginSync, kEnd},
       "joined synchronized",
       "joined synchronized",
       "away outdated, knew all",
       "joined synchronizing",
       "joined synchronized",
       "joined synchronized",
       "joined aside, holds places",
       "joined synchronized",
       "joined synchronized",
       true},
      {{kJoin, kBeginSync, kEndUnsaved},
       "joined synchronized, unsaved",
       "joined synchronized, unsaved",
       "away outdated",
       "joined synchronizing",
       "joined synchronized, unsaved",
       "joined synchronized, unsaved",
       "joined aside, holds places",
       "joined synchronized, unsaved",
       "joined synchronized, unsaved",
       true},
      {{kJoin, kBeginSync, kEnd, kLeave},
       "away outdated, knew all",
       "joined outdated, knew all",
       "away outdated, knew all",
       "away synchronizing",
       "away outdated, knew all",
       "away outdated, knew all",
       "away aside, holds places",
       "away outdated, knew all",
       "away, told outdated, knew all",
       true},
      {{kJoin, kBeginSync, kEnd, kLeave, kJoin},
       "joined outdated, knew all",
       "joined outdated, knew all",
       "away outdated, knew all",
       "joined synchronizing",
       "joined outdated, knew all",
       "joined outdated, knew all",
       "joined aside, holds places",
       "joined outdated, knew all",
       "joined outdated, knew all",
       true},
      {{kJoin, kAside},
       "joined aside, holds places",
       "joined aside, holds places",
       "away aside, holds places",
       "joined aside, holds places",
       "joined aside, holds places",
       "joined aside, holds places",
       "joined aside, holds places",
       "joined outdated",
       "joined aside, holds places",
       true},
      {{kJoin, kAside, kBack},
       "joined outdated",
       "joined outdated",
       "away outdated",
       "joined synchronizing",
       "joined outdated",
       "joined outdated",
       "joined aside, holds places",
       "joined outdated",
       "joined outdated",
       true},
  };
  for (const Row& row : rows) {
    const auto after = [&](const Step& step) {
      NriSession session(kBegin);
      for (const Step& each : row.way) each(session);
      EXPECT_EQ(Describe(session), row.state);
      EXPECT_EQ(session.started(), row.started) << row.state;
      step(session);
      return Describe(session);
    };
    EXPECT_EQ(after(kJoin), row.join) << row.state;
    EXPECT_EQ(after(kLeave), row.leave) << row.state;
    EXPECT_EQ(after(kBeginSync), row.begin) << row.state;
    EXPECT_EQ(after(kEnd), row.end) << row.state;
    EXPECT_EQ(after(kEndUnsaved), row.end_unsaved) << row.state;
    EXPECT_EQ(after(kAside), row.aside) << row.state;
    EXPECT_EQ(after(kBack), row.back) << row.state;
    EXPECT_EQ(after(kTold), row.told) << row.state;
  }
}

TEST(NriSessionTest, TimeCountsFromWhenTheLastRuntimeLeft) {
  NriSession session(kBegin);
  EXPECT_EQ(session.untold_since(), kBegin);
  session.Join();
  EXPECT_EQ(session.untold_since(), std::nullopt);
  session.Leave(kLater);
  EXPECT_EQ(session.untold_since(), kLater);
}

// An answer of the disk to one that was given up is told apart from one to the next.
TEST(NriSessionTest, EachSynchronizationHasANumberOfItsOwn) {
  NriSession session(kBegin);
  const std::uint64_t first = session.Begin({})->number;
  EXPECT_NE(first, session.Begin({})->number);
  session.StepAside();
  EXPECT_EQ(session.Begin({}), nullptr);
  session.As<Aside>()->holds_places = false;
  session.StepAside();
  EXPECT_FALSE(session.As<Aside>()->holds_places) << "it had stepped aside before";
}

}  // namespace
}  // namespace berth::nri_agent
