// `berth node`, `berth status`: the node as a whole.
#ifndef BERTH_CMD_BERTH_NODE_COMMAND_H_
#define BERTH_CMD_BERTH_NODE_COMMAND_H_

#include <string>

#include "berth/command_context.h"
#include "model/daemon_status.h"
#include "model/node_snapshot.h"

namespace berth::cli {

/// Policies and CPUs, as lines.
void PrintPolicies(const NodeView& node, const Session& session);
/// How berthd is doing, as lines.
void PrintStatus(const DaemonStatus& status, const Session& session);

int RunNode(const Session& session);
int RunStatus(const Session& session);
/// What a probe asks; `probe`: startup, liveness or readiness. kFailed: no, with the reasons.
int RunProbe(const std::string& probe, const Session& session);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_NODE_COMMAND_H_
