// `berth defrag`: which moves of running containers make room for pods that do not fit, and making them.
#ifndef BERTH_CMD_BERTH_DEFRAG_COMMAND_H_
#define BERTH_CMD_BERTH_DEFRAG_COMMAND_H_

#include <string>

#include "berth/command_context.h"
#include "simulator/offline/offline_node.h"

namespace berth::cli {

struct DefragOptions {
  offline::OfflineOptions node;  ///< all empty: the running node behind the session's socket
  std::string file;              ///< manifests of the pods to make room for; "": those that wait on the running node
  int moves = 3;                 ///< at most, in all
  bool apply = false;            ///< make them, on the running node
  int per_minute = 6;            ///< of these
};

/// Gives kOk when there is room for every pod once the moves were made (with `apply`: it was made), kRejected when not
/// for all, kFailed (kUnreachable) when it could not be found out or done.
int RunDefrag(const DefragOptions& options, const Session& session);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_DEFRAG_COMMAND_H_
