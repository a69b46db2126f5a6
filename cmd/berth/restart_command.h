// `berth restart`: the containers of pods anew, where they are.
#ifndef BERTH_CMD_BERTH_RESTART_COMMAND_H_
#define BERTH_CMD_BERTH_RESTART_COMMAND_H_

#include <string>
#include <vector>

#include "berth/apply_command.h"
#include "berth/command_context.h"

namespace berth::cli {

struct RestartOptions {
  std::vector<std::string> pods;  ///< as ParsePodToChange, with `namespace_`
  std::string namespace_;         ///< "": default, and with `selector` any
  std::string selector;           ///< instead of `pods`: as Selector::Parse
  WaitOptions wait;               ///< until every container that was ended runs again
};
int RunRestart(const RestartOptions& options, const Session& session);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_RESTART_COMMAND_H_
