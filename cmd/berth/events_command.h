// `berth events`: what happened on the node.
#ifndef BERTH_CMD_BERTH_EVENTS_COMMAND_H_
#define BERTH_CMD_BERTH_EVENTS_COMMAND_H_

#include <string>

#include "berth/command_context.h"

namespace berth::cli {

struct EventsOptions {
  std::string since;       ///< duration back or RFC 3339; "": all that are kept
  std::string pod;         ///< as PickPod; a name nobody has is asked for as it is (its pod may be gone); "": all
  std::string namespace_;  ///< only what is told of its pods; "": all
  int limit = 0;           ///< newest so many; 0: all
  bool follow = false;
};
/// With `follow` it goes on until it is killed or berthd goes away.
int RunEvents(const EventsOptions& options, const Session& session);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_EVENTS_COMMAND_H_
