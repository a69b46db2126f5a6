// Memory growth threshold of a process, above which freed heap is given back to the kernel (malloc_trim(3)).
#ifndef BERTH_DAEMON_MEMORY_MARK_H_
#define BERTH_DAEMON_MEMORY_MARK_H_

#include <algorithm>

#include "base/units.h"

namespace berth::daemon {

/// Thread: one.
class MemoryMark {
 public:
  static constexpr Bytes kMostGrowth = MiB(8);

  /// What is held is that much more than at the last mark, or than at any look since.
  bool Grown(Bytes held) {
    mark_ = std::min(mark_, held);
    return held >= mark_ + kMostGrowth;
  }
  void Mark(Bytes held) { mark_ = held; }

 private:
  Bytes mark_{};
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_MEMORY_MARK_H_
