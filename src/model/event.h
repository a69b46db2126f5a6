// Something that happened on the node, in the kubelet's types and reasons.
#ifndef BERTH_MODEL_EVENT_H_
#define BERTH_MODEL_EVENT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time_text.h"

namespace berth {

enum class EventType { kNormal, kWarning };
std::string_view Name(EventType type);  ///< "Normal", "Warning"

struct Event {
  std::int64_t id = 0;  ///< unique and growing, also over restarts: nanoseconds of the first occurrence or just after.
                        ///< Not part of its JSON: 0 when read back
  WallTime time{};      ///< of the last occurrence
  EventType type = EventType::kNormal;
  std::string reason;       ///< "Started", "BackOff", "TopologyAffinityError", ...
  std::string object;       ///< "pod/<namespace>/<name>", "file/<name>", "node/<name>"
  std::string message;      ///< one sentence
  std::uint64_t count = 1;  ///< occurrences in a row
  friend bool operator==(const Event&, const Event&) = default;
};

/// Events as they are asked for.
struct EventList {
  std::vector<Event> events;  ///< oldest first
  bool left_out = false;      ///< older ones matched too
  std::string problem;        ///< why only the events in memory could be looked at; "" when all could
  friend bool operator==(const EventList&, const EventList&) = default;
};

}  // namespace berth

#endif  // BERTH_MODEL_EVENT_H_
