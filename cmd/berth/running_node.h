// Copy of a running berthd's node, to decide on offline.
#ifndef BERTH_CMD_BERTH_RUNNING_NODE_H_
#define BERTH_CMD_BERTH_RUNNING_NODE_H_

#include <string>

#include "base/result.h"
#include "simulator/offline/offline_node.h"

namespace berth::cli {

/// As offline::AskNode. Errors: as api::NodeClient.
Result<offline::RunningNode> AskRunning(const std::string& socket);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_RUNNING_NODE_H_
