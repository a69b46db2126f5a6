// `berth diff`: the ledger, the kernel and manifests beside each other, and where they differ.
#ifndef BERTH_CMD_BERTH_DIFF_COMMAND_H_
#define BERTH_CMD_BERTH_DIFF_COMMAND_H_

#include <string>
#include <vector>

#include "berth/command_context.h"
#include "model/pod.h"

namespace berth::cli {

struct DiffOptions {
  std::vector<std::string> files;  ///< manifests to compare the node's pods with; empty: those in berthd's pod folder
};
/// kFailed when something differs.
int RunDiff(const DiffOptions& options, const Session& session);

/// What of a pod's manifest is another in `wanted`, a sentence each: "spec.containers[0].resources.limits.cpu: 2, in
/// the manifest 3". Not what a node adds: uid, the end of the name, annotations.
std::vector<std::string> ManifestDifferences(const Pod& on_node, const Pod& wanted);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_DIFF_COMMAND_H_
