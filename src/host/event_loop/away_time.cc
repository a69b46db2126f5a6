#include "host/event_loop/away_time.h"

#include <algorithm>
#include <utility>

namespace berth::event_loop {

void AwayTime::Begin(os::MonoTime now) {
  const MutexLock lock(mutex_);
  ++turns_;
  away_ = true;
  turn_began_ = now;
  call_began_ = now;
  call_.clear();
  longest_call_ = {};
}

void AwayTime::EndCall(os::MonoTime now) {
  if (now - call_began_ > longest_call_.time) longest_call_ = {.time = now - call_began_, .what = call_};
}

void AwayTime::Call(os::MonoTime now, std::string_view what) {
  const MutexLock lock(mutex_);
  EndCall(now);
  call_began_ = now;
  call_ = what;
}

void AwayTime::End(os::MonoTime now) {
  const MutexLock lock(mutex_);
  EndCall(now);
  away_ = false;
  const Absence turn{.time = now - turn_began_, .what = std::move(longest_call_.what)};
  seconds_.Add(std::chrono::duration<double>(turn.time).count());
  if (turn.time > longest_.time) longest_ = turn;
  const std::int64_t number = NumberOf(now);
  Span& span = spans_[static_cast<std::size_t>(number) % kSpans];
  if (span.number != number) span = {.number = number, .longest = {}};
  if (turn.time > span.longest.time) span.longest = turn;
}

AwayFigures AwayTime::Read(os::MonoTime now) const {
  const MutexLock lock(mutex_);
  AwayFigures out{.turns = turns_, .longest = longest_, .longest_lately = {}, .now = {}, .seconds = seconds_};
  const std::int64_t oldest = NumberOf(now) - static_cast<std::int64_t>(kSpans) + 1;
  for (const Span& span : spans_)
    if (span.number >= oldest && span.longest.time > out.longest_lately.time) out.longest_lately = span.longest;
  if (away_) out.now = {.time = now - turn_began_, .what = call_};
  return out;
}

}  // namespace berth::event_loop
