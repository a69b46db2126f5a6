#include "berth/events.h"

#include "api/client.h"
#include "berth/follow.h"
#include "berth/pod_name.h"
#include "view/table.h"

namespace berth::cli {
namespace {

using codec::Json;
using view::Cell;
using view::Style;

std::string EventsPath(const EventsOptions& options, const std::string& pod) {
  std::string path = "/v1/events";
  char separator = '?';
  const auto add = [&](const std::string& key, const std::string& value) {
    if (value.empty()) return;
    path += separator + key + "=" + api::EncodeQuery(value);
    separator = '&';
  };
  add("since", options.since);
  add("pod", pod);
  add("limit", options.limit > 0 ? std::to_string(options.limit) : "");
  return path;
}

Cell TypeCell(const Json& event) {
  const std::string type = Text(event, "type");
  return {type, type == "Warning" ? Style::kWarn : Style::kPlain};
}

/// Columns of fixed width, so that lines that come later stand below the first ones.
std::string FollowLine(const Json& event, bool color) {
  const Cell type = TypeCell(event);
  return view::PadRight(Text(event, "time"), 28) + view::Paint(view::PadRight(type.text, 9), type.style, color) +
         view::PadRight(Text(event, "reason"), 26) + view::PadRight(Text(event, "object"), 32) + "  " +
         Text(event, "message") + "\n";
}

int Follow(const EventsOptions& options, const std::string& pod, const Session& session) {
  Follower follower;
  EventsOptions next = options;
  for (;; os::SleepFor(kFollowPeriod)) {
    const auto answer = session.Get(EventsPath(next, pod));
    if (!answer) return session.Report(answer.error());
    for (const Json* event : follower.New(Member(*answer, "events"))) {
      if (session.for_people())
        session.out() << FollowLine(*event, session.color());
      else
        session.out() << codec::FormatJson(*event) << '\n';
    }
    session.out().flush();
    if (!session.out().good()) return kFailed;
    next.limit = 0;
    if (!follower.newest().empty()) next.since = follower.newest();
  }
}

}  // namespace

int RunEvents(const EventsOptions& options, const Session& session) {
  std::string pod = options.pod;
  if (!pod.empty()) {
    const auto found = FindPod(session, pod);
    if (found)
      pod = FullName(*found);
    else if (found.error().code != Code::kNotFound)
      return session.Report(found.error());
  }
  if (options.follow) return Follow(options, pod, session);
  const auto answer = session.Get(EventsPath(options, pod));
  if (!answer) return session.Report(answer.error());
  if (!session.for_people()) return session.PrintData(*answer);
  view::Table table({{"TIME"}, {"TYPE"}, {"REASON"}, {"OBJECT"}, {"MESSAGE", view::Align::kLeft, true}});
  for (const Json& event : Member(*answer, "events"))
    table.AddRow(
        {Text(event, "time"), TypeCell(event), Text(event, "reason"), Text(event, "object"), Text(event, "message")});
  view::TableOptions layout = session.table();
  if (session.wide()) layout.width = 0;
  if (const std::string problem = Text(*answer, "problem"); !problem.empty())
    session.err() << "berth: only the newest events: " << problem << '\n';
  if (options.limit == 0 && Flag(*answer, "leftOut"))
    session.err() << "berth: older events are left out; ask for more with --limit, or for a time with --since\n";
  if (table.empty())
    session.err() << "No events" << (options.since.empty() ? "" : " in that time") << ".\n";
  else
    session.out() << table.Format(layout);
  return kOk;
}

}  // namespace berth::cli
