#include "telemetry/events/event_log.h"

#include <algorithm>
#include <utility>

namespace berth::events {
namespace {

/// How far back an equal event is looked for: repetitions are bumped, not listed again.
constexpr std::ptrdiff_t kRepeatWindow = 64;

bool SameHappening(const Event& a, const Event& b) {
  return a.type == b.type && a.reason == b.reason && a.object == b.object && a.message == b.message;
}

}  // namespace

void EventLog::Tell(bool warning, std::string reason, std::string object, std::string message) {
  Add({.time = clock_.Wall(),
       .type = warning ? EventType::kWarning : EventType::kNormal,
       .reason = std::move(reason),
       .object = std::move(object),
       .message = std::move(message)});
}

void EventLog::SetCapacity(std::size_t capacity) {
  capacity_ = capacity;
  while (events_.size() > capacity_) events_.pop_front();
  ++added_;
}

void EventLog::Add(Event event) {
  ++counts_[event.reason];
  const auto end = events_.rend();
  const auto limit = std::distance(events_.rbegin(), end) > kRepeatWindow ? events_.rbegin() + kRepeatWindow : end;
  const auto it = std::find_if(events_.rbegin(), limit, [&](const auto& old) { return SameHappening(*old, event); });
  if (it != limit) {
    event.id = (*it)->id;
    event.count = (*it)->count + 1;
    events_.erase(std::next(it).base());
  } else {
    last_id_ = std::max(last_id_ + 1, std::int64_t{event.time.time_since_epoch().count()});
    event.id = last_id_;
    if (log_ != nullptr) {
      const std::string line = event.object + ": " + event.reason + ": " + event.message;
      event.type == EventType::kNormal ? log_->Info(line) : log_->Warning(line);
    }
  }
  sink_(event);
  events_.push_back(std::make_shared<const Event>(std::move(event)));
  ++added_;
  if (events_.size() > capacity_) events_.pop_front();
}

}  // namespace berth::events
