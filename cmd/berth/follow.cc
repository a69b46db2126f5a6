#include "berth/follow.h"

namespace berth::cli {

std::vector<const Event*> Follower::New(const std::vector<Event>& list) {
  std::vector<const Event*> out;
  std::size_t same = 0;  // events of the newest time in this list
  const std::optional<WallTime> before = newest_;
  const std::size_t known = at_newest_;
  for (const Event& event : list) {
    if (before && (event.time < *before || (event.time == *before && ++same <= known))) continue;
    if (newest_ != event.time) at_newest_ = 0;
    newest_ = event.time;
    ++at_newest_;
    out.push_back(&event);
  }
  return out;
}

}  // namespace berth::cli
