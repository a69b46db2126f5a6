// `berth resize`: other amounts into a pod's manifest.
#ifndef BERTH_CMD_BERTH_RESIZE_COMMAND_H_
#define BERTH_CMD_BERTH_RESIZE_COMMAND_H_

#include <string>

#include "berth/apply_command.h"
#include "berth/command_context.h"

namespace berth::cli {

struct ResizeOptions {
  std::string pod;         ///< as ParsePodToChange, with `namespace_`
  std::string namespace_;  ///< "": default
  std::string container;   ///< "": the only one
  std::string cpus;        ///< a quantity; "": as it is
  std::string memory;      ///< likewise
  WaitOptions wait;        ///< until it is done, or was refused
};
/// kRejected when it was waited for and not done.
int RunResize(const ResizeOptions& options, const Session& session);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_RESIZE_COMMAND_H_
