// `berth exec`: a command in a container that runs.
#ifndef BERTH_CMD_BERTH_EXEC_COMMAND_H_
#define BERTH_CMD_BERTH_EXEC_COMMAND_H_

#include <string>
#include <vector>

#include "berth/command_context.h"

namespace berth::cli {

struct ExecOptions {
  std::string pod;         ///< as ParsePodToChange, with `namespace_`
  std::string namespace_;  ///< "": default
  std::string container;   ///< "": the only container
  std::string timeout = "60s";
  bool raw = false;  ///< also on a terminal as it was written
  std::vector<std::string> command;
};
/// Prints what the command wrote and gives its exit status.
int RunExec(const ExecOptions& options, const Session& session);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_EXEC_COMMAND_H_
