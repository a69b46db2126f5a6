#include "frontend/static_pods/pre_start.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

namespace berth::pods {
namespace {

using pre_start::Allowed;
using pre_start::Asked;
using pre_start::Away;
using pre_start::NotAsked;
using pre_start::Refused;

struct PreStartText {
  std::string operator()(const NotAsked&) const { return "not asked"; }
  std::string operator()(const Asked& s) const {
    return "asked " + std::to_string(s.question) + " for " + std::to_string(s.attempt);
  }
  std::string operator()(const Allowed& s) const { return "allowed " + std::to_string(s.attempt); }
  std::string operator()(const Refused& s) const { return "refused " + std::to_string(s.attempt) + ": " + s.problem; }
  std::string operator()(const pre_start::Present& s) const { return std::visit(*this, s); }
  std::string operator()(const Away& s) const { return "away, " + std::visit(*this, s.before); }
};

std::vector<PreStartEvent> PreStartEvents() {
  return {pre_start::PluginLeft(),
          pre_start::PluginsBack(),
          pre_start::Ask{.attempt = 2, .question = 9},
          pre_start::Answer{.question = 7, .outcome = {}},
          pre_start::Answer{.question = 7, .outcome = Fail(Code::kUnreachable, "it has gone")},
          pre_start::Answer{.question = 8, .outcome = {}},
          pre_start::Forget()};
}

struct PreStartRow {
  PreStart state;
  std::vector<std::string> after;  // each of PreStartEvents; "": the state as it was
};

TEST(PreStartTest, EveryEventInEveryState) {
  const Asked asked{.attempt = 1, .question = 7};
  const Refused refused{.attempt = 1, .code = Code::kIo, .problem = "no"};
  const std::string again = "asked 9 for 2";
  const std::vector<PreStartRow> rows = {
      {NotAsked(), {"away, not asked", "", again, "", "", "", ""}},
      {asked, {"away, asked 7 for 1", "", again, "allowed 1", "refused 1: it has gone", "", ""}},
      {Allowed{1}, {"away, allowed 1", "", again, "", "", "", ""}},
      {refused, {"away, refused 1: no", "", again, "", "", "", "not asked"}},
      {Away{NotAsked()}, {"", "not asked", "", "", "", "", ""}},
      {Away{asked}, {"", "asked 7 for 1", "", "away, allowed 1", "away, refused 1: it has gone", "", ""}},
      {Away{Allowed{1}}, {"", "allowed 1", "", "", "", "", ""}},
      {Away{refused}, {"", "refused 1: no", "", "", "", "", ""}},
  };
  for (const PreStartRow& row : rows) {
    const std::vector<PreStartEvent> events = PreStartEvents();
    ASSERT_EQ(row.after.size(), events.size());
    for (std::size_t i = 0; i < events.size(); ++i) {
      const std::string before = std::visit(PreStartText(), row.state);
      SCOPED_TRACE(before + ", event " + std::to_string(i));
      const PreStart after = Follow(row.state, events[i]);
      EXPECT_EQ(std::visit(PreStartText(), after), row.after[i].empty() ? before : row.after[i]);
      EXPECT_TRUE(!row.after[i].empty() || after == row.state);
    }
  }
}

}  // namespace
}  // namespace berth::pods
