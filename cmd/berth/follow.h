// Following a list that only grows at its end, by asking again and again.
#ifndef BERTH_CMD_BERTH_FOLLOW_H_
#define BERTH_CMD_BERTH_FOLLOW_H_

#include <cstddef>
#include <string>
#include <vector>

#include "berth/session.h"
#include "os/clock.h"

namespace berth::cli {

/// How often a followed list is asked for.
inline constexpr os::Millis kFollowPeriod{500};

/// Tells new entries from those seen before. Entries have a "time" (RFC 3339, same form in all) and come sorted by it.
class Follower {
 public:
  /// The entries of `list` that were in no earlier list.
  std::vector<const codec::Json*> New(const codec::Json& list);
  /// Time of the newest entry seen; "" before any.
  const std::string& newest() const { return newest_; }

 private:
  std::string newest_;
  std::size_t at_newest_ = 0;  ///< entries of that very time that were seen
};

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_FOLLOW_H_
