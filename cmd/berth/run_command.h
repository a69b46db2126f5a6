// `berth run`: a command, or processes that run already, in a place of their own, without a manifest.
#ifndef BERTH_CMD_BERTH_RUN_COMMAND_H_
#define BERTH_CMD_BERTH_RUN_COMMAND_H_

#include <string>
#include <vector>

#include "berth/command_context.h"
#include "berth/run_pod.h"

namespace berth::cli {

struct RunOptions {
  RunRequest request;                    ///< name "": made of the command's
  std::vector<std::string> command;      ///< not with `pids`
  std::vector<int> pids;                 ///< processes that run already, with all that descend from them
  bool even_placed = false;              ///< also those of a container or of a cpuset of others
  std::vector<std::string> environment;  ///< with `detach`: "NAME=value", or NAME for ours
  bool isolate = false;                  ///< not without CPUs of its own
  bool detach = false;                   ///< berthd keeps it; we do not wait for its end
  bool dry_run = false;                  ///< only say where
  bool once = false;                     ///< with a berthd of its own for as long as it is needed
  bool quiet = false;                    ///< the place is not printed
  int timeout_s = 60;                    ///< for the place
};

/// In the foreground: the command's exit status; 126 and 127 when it cannot be executed; 128 + signal when one killed
/// it. kRejected when there is no place for it.
int RunRun(const RunOptions& options, const Session& session);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_RUN_COMMAND_H_
