#include "berth/events_command.h"

#include "api/codec/views.h"
#include "berth/follow.h"
#include "berth/pod_name.h"
#include "view/table.h"

namespace berth::cli {
namespace {

using view::Cell;
using view::Style;

/// berthd knows no namespaces in a query: of one all events are asked for, and the newest taken here.
api::EventQuery QueryOf(const EventsOptions& options, const std::string& pod) {
  api::EventQuery query{.since = options.since, .pod = pod, .limit = {}};
  if (options.limit > 0 && options.namespace_.empty()) query.limit = static_cast<std::size_t>(options.limit);
  return query;
}

bool IsWanted(const Event& event, const EventsOptions& options) {
  return options.namespace_.empty() || event.object.starts_with("pod/" + options.namespace_ + "/");
}

/// The newest of them, as many as `limit` says; 0: all. Whether there were more.
template <class Events>
bool KeepNewest(Events& events, int limit) {
  if (limit == 0 || events.size() <= static_cast<std::size_t>(limit)) return false;
  events.erase(events.begin(), events.end() - limit);
  return true;
}

Cell TypeCell(const Event& event) {
  return {std::string(Name(event.type)), event.type == EventType::kWarning ? Style::kWarn : Style::kPlain};
}

/// Columns of fixed width, so that lines that come later stand below the first ones.
std::string FollowLine(const Event& event, bool color) {
  const Cell type = TypeCell(event);
  return view::PadRight(FormatTime(event.time), 28) + view::Paint(view::PadRight(type.text, 9), type.style, color) +
         view::PadRight(event.reason, 26) + view::PadRight(event.object, 32) + "  " + event.message + "\n";
}

int Follow(const EventsOptions& options, const std::string& pod, const Session& session) {
  api::EventQuery query = QueryOf(options, pod);
  Follower follower;
  for (;; os::SleepFor(kFollowPeriod)) {
    auto list = session.berthd().Events(query);
    if (!list) return session.Report(list.error());
    const bool first = !follower.newest();
    std::vector<const Event*> fresh = follower.New(list->events);
    std::erase_if(fresh, [&](const Event* event) { return !IsWanted(*event, options); });
    if (first) KeepNewest(fresh, options.limit);
    for (const Event* event : fresh) {
      if (session.for_people())
        session.out() << FollowLine(*event, session.color());
      else if (const int printed = session.PrintItem(codec::ToJson(*event)); printed != kOk)
        return printed;
    }
    session.out().flush();
    if (!session.out().good()) return kFailed;
    query.limit.reset();
    if (follower.newest()) query.since = FormatTime(*follower.newest());
  }
}

}  // namespace

int RunEvents(const EventsOptions& options, const Session& session) {
  std::string pod = options.pod;
  if (!pod.empty()) {
    const auto found = FindPod(session, pod, options.namespace_);
    if (found)
      pod = FullName(**found);
    else if (found.error().code != Code::kNotFound)
      return session.Report(found.error());
    else if (!options.namespace_.empty() && !pod.contains('/'))
      pod = options.namespace_ + "/" + pod;
  }
  if (options.follow) return Follow(options, pod, session);
  auto list = session.berthd().Events(QueryOf(options, pod));
  if (!list) return session.Report(list.error());
  std::erase_if(list->events, [&](const Event& event) { return !IsWanted(event, options); });
  // Of a namespace, berthd's newest may be fewer than were asked for.
  const bool enough = options.limit > 0 && list->events.size() >= static_cast<std::size_t>(options.limit);
  list->left_out |= KeepNewest(list->events, options.limit);
  if (!session.for_people()) return session.PrintData(codec::ToJson(*list));
  view::Table table({{"TIME"}, {"TYPE"}, {"REASON"}, {"OBJECT"}, {"MESSAGE", view::Align::kLeft, true}});
  for (const Event& event : list->events)
    table.AddRow({FormatTime(event.time), TypeCell(event), event.reason, event.object, event.message});
  if (!list->problem.empty()) session.err() << "berth: only the newest events: " << list->problem << '\n';
  if (!enough && list->left_out)
    session.err() << "berth: older events are left out; ask for more with --limit, or for a time with --since\n";
  if (table.empty())
    session.err() << "No events" << (options.since.empty() ? "" : " in that time") << ".\n";
  else
    session.out() << table.Format(session.table());
  return kOk;
}

}  // namespace berth::cli
