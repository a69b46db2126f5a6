// Events from memory and from the history as one list.
#ifndef BERTH_DAEMON_EVENT_LIST_H_
#define BERTH_DAEMON_EVENT_LIST_H_

#include <cstddef>
#include <string>
#include <vector>

#include "codec/codec.h"
#include "daemon/events.h"
#include "history/history.h"

namespace berth::daemon {

/// What is asked for.
struct EventFilter {
  os::WallTime since{};
  std::vector<std::string> objects;    ///< as history::Query
  std::vector<std::string> pod_names;  ///< as history::Query
  std::size_t limit = 10'000;          ///< the newest so many
};
bool Matches(const EventFilter& filter, const Event& event);

/// Those of `log` that match, oldest first.
std::vector<Event> Recent(const EventLog& log, const EventFilter& filter);

struct EventList {
  std::vector<Event> events;  ///< oldest first
  bool left_out = false;      ///< older ones matched too
  std::string problem;        ///< why the history could not be asked; "" when it could
};
/// Adds to `recent` what the history has beyond; an event in both is taken from `recent`. `history` may be null: only
/// `recent` then. Thread: any but the loop's; may wait for a disk.
EventList WithHistory(std::vector<Event> recent, const EventFilter& filter, history::History* history);

history::Entry ToEntry(const Event& event);
/// {path, kept, waiting, lost, problem}
codec::Json ToJson(const history::State& state);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_EVENT_LIST_H_
