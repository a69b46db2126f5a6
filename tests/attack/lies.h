// Fault injection for a berthd under lying_host.cc (LD_PRELOAD): wall clock offset and disk errors, in memory that it
// shares with a test.
#ifndef BERTH_TESTS_ATTACK_LIES_H_
#define BERTH_TESTS_ATTACK_LIES_H_

#include <atomic>
#include <cstdint>

namespace berth::testkit {

struct Lies {
  std::atomic<std::int64_t> clock_offset_s = 0;  ///< added to the wall clock
  std::atomic<int> disk_error = 0;               ///< errno of every change below `disk`; 0: it works
  char disk[512] = "";                           ///< a folder, as the kernel names it
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

}  // namespace berth::testkit

#endif  // BERTH_TESTS_ATTACK_LIES_H_
