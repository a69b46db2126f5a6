#include "berth/top_command.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "api/codec/views.h"
#include "berth/screen.h"
#include "berth/selector.h"
#include "berth/top_view.h"
#include "host/os/clock.h"
#include "model/machine.h"
#include "model/stats_summary.h"
#include "view/usage_table.h"

namespace berth::cli {
namespace {

constexpr os::Millis kBetweenLooks{1'100};  // berthd reads at most once a second
constexpr os::Millis kRefresh{2'000};
constexpr std::chrono::seconds kScreenPatience{5};  // on a screen: a signal waits for an answer

/// With the CPU that is used: that takes two looks, when nobody looked lately; and with the rate of throttling, which
/// always does.
Result<StatsSummary> LookTwice(const Session& session, bool rate) {
  BERTH_TRY(StatsSummary before, session.berthd().Stats());
  if (!before.node.usage.cpu || (before.node.usage.cores && !rate)) return before;
  os::SleepFor(kBetweenLooks);
  BERTH_TRY(StatsSummary now, session.berthd().Stats());
  if (rate) view::CountThrottlingSince(before, now);
  return now;
}

/// Leaves the pods that are asked for. Sums and places stay those of the node.
void KeepChosen(const TopOptions& options, const PodList& pods, StatsSummary& stats) {
  const Selector selector = Selector::Parse(options.selector).value_or(Selector());  // the command line has checked it
  std::erase_if(stats.pods, [&](const PodStats& pod) {
    if (!options.namespace_.empty() && pod.namespace_ != options.namespace_) return true;
    const auto view = std::ranges::find(pods.pods, pod.uid, [](const auto& of) { return of->uid; });
    return !selector.empty() && (view == pods.pods.end() || !selector.Fits((*view)->labels));
  });
}

/// What runs, and which of it is asked for.
struct Looked {
  StatsSummary stats;
  PodList pods;
};
Result<Looked> LookTwiceAtChosen(const TopOptions& options, const Session& session) {
  Looked out;
  BERTH_TRY(out.stats, LookTwice(session, session.for_people()));
  BERTH_TRY(out.pods, session.berthd().Pods());
  KeepChosen(options, out.pods, out.stats);
  return out;
}

Result<std::string> TextOf(const TopOptions& options, const Session& session, const Machine& machine) {
  BERTH_TRY(const Looked looked, LookTwiceAtChosen(options, session));
  const auto& [stats, pods] = looked;
  const view::TableOptions table = session.table();
  std::string out = view::PodUsageTable(
                        stats, pods, machine,
                        {.order = options.order, .filter = options.filter, .table = table, .shares = session.wide()}) +
                    "\n" + view::SumUsageTable(stats, table);
  const std::string places = view::PlaceUsageTable(stats, machine, table);
  return places.empty() ? out : out + "\n" + places;
}

/// The newest answers; what was there stays where berthd does not answer. `before`: its last one.
void Look(const api::NodeClient& berthd, const TopOptions& options, StatsSummary& before, TopPicture& picture) {
  auto stats = berthd.Stats();
  auto pods = stats ? berthd.Pods() : Result<PodList>(std::unexpected(stats.error()));
  picture.problem = pods ? "" : pods.error().message;
  if (!pods) return;
  if (stats->at != before.at) {
    picture.stats = *stats;
    view::CountThrottlingSince(before, picture.stats);
    before = *std::move(stats);
  }
  picture.pods = *std::move(pods);
  KeepChosen(options, picture.pods, picture.stats);
}

/// Until q, a signal, or the end of the terminal.
int RunOnScreen(const TopOptions& options, const Session& session, const Machine& machine, TopPicture picture) {
  const api::NodeClient berthd(session.socket(), kScreenPatience);
  session.out().flush();
  auto screen = Screen::Open();
  if (!screen) return session.Report(screen.error());
  TopChoices choices{.order = options.order, .filter = options.filter};
  StatsSummary before = picture.stats;
  view::CountThrottlingSince({}, picture.stats);
  // The second look is due soon: CPU is what was used since the first.
  os::MonoTime due = os::SystemClock().Now() + (picture.stats.node.usage.cores ? kRefresh : kBetweenLooks);
  while (!choices.quit) {
    const Screen::Size size = (*screen)->size();
    const TopLook look{.width = size.width, .height = size.height, .color = session.color(), .wide = session.wide()};
    (*screen)->Draw(TopLines(picture, machine, choices, look));
    const auto left = std::chrono::ceil<os::Millis>(due - os::SystemClock().Now());
    const Screen::News news = (*screen)->Wait(left);
    if (news.ended_by != 0) {
      screen->reset();
      EndBySignal(news.ended_by);
    }
    if (news.closed) break;
    for (const int key : news.keys) PressKey(choices, key, std::max(1, size.height - 4));
    if (!std::exchange(choices.refresh, false) && os::SystemClock().Now() < due) continue;
    Look(berthd, options, before, picture);
    due = os::SystemClock().Now() + kRefresh;
  }
  return kOk;
}

}  // namespace

int RunTop(const TopOptions& options, const Session& session) {
  if (!session.for_people()) {
    const auto looked = LookTwiceAtChosen(options, session);
    return looked ? session.PrintData(codec::ToJson(looked->stats)) : session.Report(looked.error());
  }
  const auto machine = session.berthd().GetMachine();
  if (!machine) return session.Report(machine.error());
  if (!options.once && session.around().screen) {
    auto stats = session.berthd().Stats();
    if (!stats) return session.Report(stats.error());
    auto pods = session.berthd().Pods();
    if (!pods) return session.Report(pods.error());
    KeepChosen(options, *pods, *stats);
    return RunOnScreen(options, session, *machine,
                       {.stats = *std::move(stats), .pods = *std::move(pods), .problem = {}});
  }
  const auto text = TextOf(options, session, *machine);
  if (!text) return session.Report(text.error());
  session.out() << *text;
  return kOk;
}

}  // namespace berth::cli
