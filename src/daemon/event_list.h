// Events from memory and from the history as one list.
#ifndef BERTH_DAEMON_EVENT_LIST_H_
#define BERTH_DAEMON_EVENT_LIST_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/loop_thread.h"
#include "model/event.h"
#include "telemetry/history/history.h"

namespace berth::daemon {

/// What is asked for.
struct EventFilter {
  os::WallTime since{};
  std::vector<std::string> objects;    ///< as history::Query
  std::vector<std::string> pod_names;  ///< as history::Query
  std::size_t limit = 10'000;          ///< the newest so many
};
bool Matches(const EventFilter& filter, const Event& event);

/// Those of `events` that match, in their order.
std::vector<Event> Recent(const std::vector<std::shared_ptr<const Event>>& events, const EventFilter& filter);

/// Adds to `recent` what the history has beyond; an event in both is taken from `recent`. `history` may be null: only
/// `recent` then. May wait for a disk.
EventList WithHistory(std::vector<Event> recent, const EventFilter& filter, history::History* history)
    BERTH_EXCLUDES(loop_thread);

history::Entry ToEntry(const Event& event);

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_EVENT_LIST_H_
