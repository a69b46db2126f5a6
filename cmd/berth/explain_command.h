// `berth explain`: why a pod would be placed where it is, or why not and what would help.
#ifndef BERTH_CMD_BERTH_EXPLAIN_COMMAND_H_
#define BERTH_CMD_BERTH_EXPLAIN_COMMAND_H_

#include <string>

#include "berth/command_context.h"
#include "model/explanation.h"
#include "simulator/offline/offline_node.h"

namespace berth::cli {

struct ExplainOptions {
  offline::OfflineOptions node;  ///< all empty: the running node behind the session's socket answers
  std::string file;              ///< manifest; "-": standard input
  std::string pod;               ///< NAMESPACE/NAME or NAME when the manifest holds several; "": the only one
};

/// A pod of the same name (on a running node: with or without "-<node>" at the end, as --pod too) that is on the node
/// already is taken off first: the answer is the one it would get now.
/// Gives kOk when the pod would be admitted, kRejected when not, kFailed (kUnreachable) when it could not be found out.
int RunExplain(const ExplainOptions& options, const Session& session);

/// Prints what would happen to a pod; the exit status that says so.
int PrintOutlook(const Outlook& outlook, const Session& session);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_EXPLAIN_COMMAND_H_
