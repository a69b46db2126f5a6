// `berth simulate --cluster`: many simulated nodes, and what a scheduler with one rule or another makes of them.
#ifndef BERTH_CMD_BERTH_SIMULATE_CLUSTER_COMMAND_H_
#define BERTH_CMD_BERTH_SIMULATE_CLUSTER_COMMAND_H_

#include <string>
#include <vector>

#include "berth/command_context.h"
#include "simulator/offline/cluster_workload.h"
#include "simulator/offline/offline_node.h"

namespace berth::cli {

struct ClusterOptions {
  std::vector<std::string> nodes;  ///< as offline::ReadNodeGroups
  std::string rule = "all";        ///< all, default, topology or extender
  std::string score = "balanced";  ///< tight, balanced, packed or spread
  std::vector<unsigned> percents;  ///< as offline::ClusterRules::percent_to_score, each for itself; {}: 0
  offline::WorkloadOptions workload;
};

/// Gives kOk, whatever becomes of the pods; kFailed when something could not be read.
int RunSimulateCluster(const ClusterOptions& options, const offline::OfflineOptions& node, const Session& session);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_SIMULATE_CLUSTER_COMMAND_H_
