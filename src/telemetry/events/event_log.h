// Event log for `berth events`: a bounded list in memory, newest last, in the kubelet's types and reasons. All of it
// also goes to the history (berth::history), which outlives berthd.
#ifndef BERTH_TELEMETRY_EVENTS_EVENT_LOG_H_
#define BERTH_TELEMETRY_EVENTS_EVENT_LOG_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/os/clock.h"
#include "model/event.h"
#include "telemetry/events/log.h"

namespace berth::events {

/// Most that are kept in memory; the history holds more.
inline constexpr std::size_t kEventsInMemory = 1'000;

/// Thread: the loop's only.
class EventLog {
 public:
  /// `log` may be null (tests). Requires: capacity > 0.
  EventLog(const os::Clock& clock, Log* log, std::size_t capacity) : clock_(clock), log_(log), capacity_(capacity) {}

  void Normal(std::string reason, std::string object, std::string message) {
    Tell(false, std::move(reason), std::move(object), std::move(message));
  }
  void Warning(std::string reason, std::string object, std::string message) {
    Tell(true, std::move(reason), std::move(object), std::move(message));
  }
  void Tell(bool warning, std::string reason, std::string object, std::string message);

  /// Oldest first.
  auto events() const {
    return std::views::transform(events_,
                                 [](const std::shared_ptr<const Event>& event) -> const Event& { return *event; });
  }
  /// The same, to be kept. Events never change: one that happens again is a new one.
  std::vector<std::shared_ptr<const Event>> Shared() const { return {events_.begin(), events_.end()}; }
  /// Changes whenever events() does.
  std::uint64_t added() const { return added_; }
  /// How many there were of each reason, those that are not kept any more and repetitions included.
  const std::map<std::string, std::uint64_t>& counts() const { return counts_; }
  void SetCapacity(std::size_t capacity);
  /// Called with each event as it is added or repeated; must not wait.
  void set_sink(std::function<void(const Event&)> sink) { sink_ = std::move(sink); }

 private:
  void Add(Event event);

  const os::Clock& clock_;
  Log* log_;
  std::size_t capacity_;
  std::deque<std::shared_ptr<const Event>> events_;
  std::uint64_t added_ = 0;
  std::map<std::string, std::uint64_t> counts_;
  std::int64_t last_id_ = 0;
  std::function<void(const Event&)> sink_ = [](const Event&) {};
};

}  // namespace berth::events

#endif  // BERTH_TELEMETRY_EVENTS_EVENT_LOG_H_
