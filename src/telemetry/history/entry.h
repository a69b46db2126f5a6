// Event history entries, and queries for them, as values.
#ifndef BERTH_TELEMETRY_HISTORY_ENTRY_H_
#define BERTH_TELEMETRY_HISTORY_ENTRY_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "host/os/clock.h"

namespace berth::history {

/// One happening. Recorded again under the same id it takes the older one's place (it was repeated).
struct Entry {
  std::int64_t id = 0;  ///< unique and growing with time, also over restarts
  os::WallTime time{};  ///< of the last occurrence
  bool warning = false;
  std::string reason;   ///< at most 256 bytes are kept
  std::string object;   ///< "pod/<namespace>/<name>" and the like; at most 1 KiB is kept
  std::string message;  ///< at most 4 KiB are kept
  std::uint64_t count = 1;
  friend bool operator==(const Entry&, const Entry&) = default;
};

struct Query {
  os::WallTime since{};
  /// Objects wanted: equal to one of `objects`, or "pod/<any namespace>/<name>" for one of `pod_names`. Both empty:
  /// all.
  std::vector<std::string> objects;
  std::vector<std::string> pod_names;
  std::size_t limit = 10'000;  ///< the newest so many
};

}  // namespace berth::history

#endif  // BERTH_TELEMETRY_HISTORY_ENTRY_H_
