// Standard error without a library's own messages, while one call runs.
#ifndef BERTH_HOST_MACHINE_QUIET_STDERR_H_
#define BERTH_HOST_MACHINE_QUIET_STDERR_H_

#include <mutex>

#include "host/os/unique_fd.h"

namespace berth::machine {

/// While it lives, file descriptor 2 of the whole process leads to /dev/null; afterwards it is as before. hwloc writes
/// its complaints about bad input there and offers no other way. Keep it short: other threads' messages are lost too.
/// Thread: any; one at a time, others wait.
class QuietStderr {
 public:
  QuietStderr();
  ~QuietStderr();
  QuietStderr(const QuietStderr&) = delete;
  QuietStderr& operator=(const QuietStderr&) = delete;

 private:
  std::unique_lock<std::mutex> turn_;
  os::UniqueFd saved_;
};

}  // namespace berth::machine

#endif  // BERTH_HOST_MACHINE_QUIET_STDERR_H_
