// What happened, for `berth events`: a bounded list in memory, newest last, in the kubelet's types and reasons. All of
// it also goes to the history (berth::history), which outlives berthd.
#ifndef BERTH_DAEMON_EVENTS_H_
#define BERTH_DAEMON_EVENTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>

#include "daemon/log.h"
#include "os/clock.h"

namespace berth::daemon {

/// Most that are kept in memory; the history holds more.
inline constexpr std::size_t kEventsInMemory = 1'000;

enum class EventType { kNormal, kWarning };
std::string_view Name(EventType type);  ///< "Normal", "Warning"

struct Event {
  std::int64_t id = 0;  ///< unique and growing, also over restarts: nanoseconds of the first occurrence or just after
  os::WallTime time{};  ///< of the last occurrence
  EventType type = EventType::kNormal;
  std::string reason;       ///< "Started", "BackOff", "TopologyAffinityError", ...
  std::string object;       ///< "pod/<namespace>/<name>", "file/<name>", "node/<name>"
  std::string message;      ///< one sentence
  std::uint64_t count = 1;  ///< occurrences in a row
};

/// Thread: the loop's only.
class EventLog {
 public:
  /// `log` may be null (tests). Requires: capacity > 0.
  EventLog(const os::Clock& clock, Log* log, std::size_t capacity) : clock_(clock), log_(log), capacity_(capacity) {}

  void Normal(std::string reason, std::string object, std::string message);
  void Warning(std::string reason, std::string object, std::string message);

  const std::deque<Event>& events() const { return events_; }
  void SetCapacity(std::size_t capacity);
  /// Called with each event as it is added or repeated; must not wait.
  void set_sink(std::function<void(const Event&)> sink) { sink_ = std::move(sink); }

 private:
  void Add(Event event);

  const os::Clock& clock_;
  Log* log_;
  std::size_t capacity_;
  std::deque<Event> events_;
  std::int64_t last_id_ = 0;
  std::function<void(const Event&)> sink_ = [](const Event&) {};
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_EVENTS_H_
