// `berth logs`: what a container wrote.
#ifndef BERTH_CMD_BERTH_LOGS_COMMAND_H_
#define BERTH_CMD_BERTH_LOGS_COMMAND_H_

#include <string>

#include "berth/command_context.h"

namespace berth::cli {

struct LogsOptions {
  std::string pod;         ///< as PickPod
  std::string namespace_;  ///< of the pod; "": any
  std::string container;   ///< "": the only container
  int tail = -1;           ///< last so many lines; < 0: as many as berthd gives
  std::string since;       ///< a duration back or a time; "": all
  bool previous = false;   ///< of the attempt before the current one
  bool follow = false;
  bool timestamps = false;
  bool raw = false;  ///< also on a terminal as it was written
};
/// With `follow` it goes on until the container has ended or its pod is gone.
int RunLogs(const LogsOptions& options, const Session& session);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_LOGS_COMMAND_H_
