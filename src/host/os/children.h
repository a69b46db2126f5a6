// Child process supervision (subreaper): a supervisor sees its children end, reaps them, and kills those that are not
// its own.
#ifndef BERTH_HOST_OS_CHILDREN_H_
#define BERTH_HOST_OS_CHILDREN_H_

#include <optional>

#include "base/result.h"
#include "host/os/clock.h"
#include "host/os/unique_fd.h"

namespace berth::os {

/// An ended child: how it ended. Signals that killed it count as 128 + signal.
struct ChildEnd {
  int pid = 0;
  int exit_code = 0;
  std::optional<int> signal;
  friend bool operator==(const ChildEnd&, const ChildEnd&) = default;
};
/// The next ended child, not reaped yet; nullopt when none has ended.
std::optional<ChildEnd> PeekEndedChild();
/// Reaps the ended child `pid`.
void ReapChild(int pid);

/// Kills all our children but `but`, and what becomes our child by that, until there are none or `limit` is over.
/// False: some do not die.
bool KillChildrenBut(int but, Millis limit);

/// For supervisors: orphans below become our children; SIGHUP, SIGINT, SIGTERM and SIGPIPE are ignored (Spawn resets
/// that for its children); SIGCHLD is blocked and makes the returned descriptor readable.
Result<UniqueFd> BecomeSupervisor();

}  // namespace berth::os

#endif  // BERTH_HOST_OS_CHILDREN_H_
