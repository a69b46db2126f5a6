#include "daemon/event_list.h"

#include <algorithm>
#include <map>
#include <utility>

namespace berth::daemon {

bool Matches(const EventFilter& filter, const Event& event) {
  if (event.time < filter.since) return false;
  if (filter.objects.empty() && filter.pod_names.empty()) return true;
  return std::ranges::find(filter.objects, event.object) != filter.objects.end() ||
         (event.object.starts_with("pod/") && std::ranges::any_of(filter.pod_names, [&](const std::string& name) {
            return event.object.ends_with("/" + name);
          }));
}

std::vector<Event> Recent(const std::vector<std::shared_ptr<const Event>>& events, const EventFilter& filter) {
  std::vector<Event> out;
  for (const auto& event : events)
    if (Matches(filter, *event)) out.push_back(*event);
  return out;
}

EventList WithHistory(std::vector<Event> recent, const EventFilter& filter, history::History* history) {
  EventList out;
  std::map<std::int64_t, Event> all;  // by id
  if (history != nullptr) {
    auto found = history->Find(
        {.since = filter.since, .objects = filter.objects, .pod_names = filter.pod_names, .limit = filter.limit + 1});
    // Before the first write there is none, and nothing is missing.
    if (!found && found.error().code != Code::kNotFound) out.problem = found.error().message;
    if (found)
      for (history::Entry& entry : *found)
        all.emplace(entry.id, Event{.id = entry.id,
                                    .time = entry.time,
                                    .type = entry.warning ? EventType::kWarning : EventType::kNormal,
                                    .reason = std::move(entry.reason),
                                    .object = std::move(entry.object),
                                    .message = std::move(entry.message),
                                    .count = entry.count});
  }
  for (Event& event : recent) all.insert_or_assign(event.id, std::move(event));
  for (auto& [id, event] : all) out.events.push_back(std::move(event));
  std::ranges::stable_sort(out.events, {}, &Event::time);
  if (out.events.size() > filter.limit) {
    out.left_out = true;
    out.events.erase(out.events.begin(), out.events.end() - static_cast<std::ptrdiff_t>(filter.limit));
  }
  return out;
}

history::Entry ToEntry(const Event& event) {
  return {.id = event.id,
          .time = event.time,
          .warning = event.type == EventType::kWarning,
          .reason = event.reason,
          .object = event.object,
          .message = event.message,
          .count = event.count};
}

}  // namespace berth::daemon
