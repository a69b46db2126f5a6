// The program of a container that has nothing to do, in a pod whose work is done by its init container: a DaemonSet's
// pods are started again when they end.
#ifndef BERTH_CMD_BERTH_STAY_H_
#define BERTH_CMD_BERTH_STAY_H_

#include <string_view>

namespace berth::cli {

/// The only word of its command line, after the program's name; not in the table of commands.
inline constexpr std::string_view kStayVerb = "__stay";

/// Until SIGINT, SIGTERM or SIGHUP asks it to end. Exit status 0.
int RunStay();

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_STAY_H_
