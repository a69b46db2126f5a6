// The holder: the program of a pod whose place is for processes that `berth run` or somebody else started. berthd
// starts it in the pod's groups; it brings the processes there, waits for their end, and removes its own pod.
#ifndef BERTH_CMD_BERTH_HOLD_H_
#define BERTH_CMD_BERTH_HOLD_H_

#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "host/cgroup/visitors.h"

namespace berth::cli {

/// First word of the holder's command line, after the program's name; not in the table of commands.
inline constexpr std::string_view kHoldVerb = "__hold";

struct HoldOptions {
  std::string socket;
  bool give_back = false;    ///< asked to end, it gives the processes back; else it passes the request on to them
  bool even_placed = false;  ///< with `give_back`: also processes of a container or of a cpuset of others
  std::vector<cgroup::ProcessId> processes;
};

/// The command that runs a holder: `program` is this program's file.
std::vector<std::string> HoldCommand(const std::string& program, const HoldOptions& options);

/// `words` follow the verb. Exit status 0: all ended, or were given back, or were gone before.
int RunHold(const std::vector<std::string>& words, std::ostream& err);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_HOLD_H_
