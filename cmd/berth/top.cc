#include "berth/top.h"

#include <string>

#include "codec/views.h"
#include "model/machine.h"
#include "model/stats_summary.h"
#include "os/clock.h"
#include "view/usage_table.h"

namespace berth::cli {
namespace {

constexpr os::Millis kBetweenLooks{1'100};  // berthd reads at most once a second
constexpr os::Millis kRefresh{2'000};

/// With the CPU that is used: that takes two looks, when nobody looked lately.
Result<StatsSummary> LookTwice(const Session& session) {
  BERTH_TRY(StatsSummary stats, session.berthd().Stats());
  if (stats.node.usage.cores || !stats.node.usage.cpu) return stats;
  os::SleepFor(kBetweenLooks);
  return session.berthd().Stats();
}

Result<std::string> TextOf(const Session& session, const Machine& machine) {
  BERTH_TRY(const StatsSummary stats, LookTwice(session));
  BERTH_TRY(const PodList pods, session.berthd().Pods());
  return view::UsageTable(stats, pods, machine, session.table());
}

}  // namespace

int RunTop(const TopOptions& options, const Session& session) {
  constexpr std::string_view kHomeAndClear = "\x1b[H\x1b[J";
  if (!session.for_people()) {
    const auto stats = LookTwice(session);
    return stats ? session.PrintData(codec::ToJson(*stats)) : session.Report(stats.error());
  }
  const auto machine = session.berthd().GetMachine();
  if (!machine) return session.Report(machine.error());
  const bool again = !options.once && session.around().terminal;
  for (;;) {
    const auto text = TextOf(session, *machine);
    if (!text) return session.Report(text.error());
    session.out() << (again ? kHomeAndClear : "") << *text << std::flush;
    if (!again) return kOk;
    os::SleepFor(kRefresh);
  }
}

}  // namespace berth::cli
