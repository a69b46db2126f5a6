// Following a list that only grows at its end, by asking again and again.
#ifndef BERTH_CMD_BERTH_FOLLOW_H_
#define BERTH_CMD_BERTH_FOLLOW_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "host/os/clock.h"
#include "model/event.h"

namespace berth::cli {

/// How often a followed list is asked for.
inline constexpr os::Millis kFollowPeriod{500};

/// Tells new events from those seen before. They come sorted by time.
class Follower {
 public:
  /// The events of `list` that were in no earlier list. They are those of `list`.
  std::vector<const Event*> New(const std::vector<Event>& list);
  /// Time of the newest event seen; nullopt before any.
  std::optional<WallTime> newest() const { return newest_; }

 private:
  std::optional<WallTime> newest_;
  std::size_t at_newest_ = 0;  ///< events of that very time that were seen
};

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_FOLLOW_H_
