// Times of a pod's lifecycle that outlive the daemon.
#ifndef BERTH_RUNTIME_LIFECYCLE_LIFECYCLE_TIMES_H_
#define BERTH_RUNTIME_LIFECYCLE_LIFECYCLE_TIMES_H_

#include <optional>
#include <string>
#include <vector>

#include "host/os/clock.h"

namespace berth::runtime {

/// What a lifecycle knows about time and cannot see again: kept elsewhere, it goes on in another one. Times are of this
/// boot.
struct LifecycleTimes {
  struct Of {
    std::string container;
    int attempt = -1;  ///< the newest, which term_at and ended_at are about; -1: none was started
    std::optional<os::MonoTime> term_at;
    std::optional<os::MonoTime> ended_at;
    int restarts = 0;  ///< in a row
    os::MonoTime last_restart{};
    int counted_attempt = 0;  ///< its restart is in `restarts`
    int start_failures = 0;   ///< in a row
    std::optional<os::MonoTime> retry_at;
    std::string start_reason;
    std::string start_error;
    bool post_started = true;            ///< the newest attempt's postStart hook is over, or it has none
    std::optional<os::MonoTime> asked;   ///< the newest attempt's preStop hook is over, and it was asked to end
    bool started = false;                ///< what its probes said last of the newest attempt
    bool ready = false;                  ///< likewise
    std::optional<os::MonoTime> end_by;  ///< a probe ends that attempt: what is left of it is killed then
    friend bool operator==(const Of&, const Of&) = default;
  };
  std::optional<os::MonoTime> deadline;      ///< the pod is being terminated, and what is left is killed then
  std::optional<os::MonoTime> active_since;  ///< activeDeadlineSeconds count from here
  bool overdue = false;                      ///< they were over
  std::vector<Of> containers;
  friend bool operator==(const LifecycleTimes&, const LifecycleTimes&) = default;
};

}  // namespace berth::runtime

#endif  // BERTH_RUNTIME_LIFECYCLE_LIFECYCLE_TIMES_H_
