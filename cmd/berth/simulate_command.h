// `berth simulate`: what a node would answer to pods that come and go, with no root and no daemon.
#ifndef BERTH_CMD_BERTH_SIMULATE_COMMAND_H_
#define BERTH_CMD_BERTH_SIMULATE_COMMAND_H_

#include <string>
#include <vector>

#include "berth/command_context.h"
#include "berth/simulate_cluster_command.h"
#include "simulator/offline/offline_node.h"

namespace berth::cli {

struct SimulateOptions {
  offline::OfflineOptions node;       ///< kubelet_version is not looked at
  std::vector<std::string> versions;  ///< of the kubelet, as Name has them; several are compared with the first
  std::vector<std::string> steps;     ///< as offline::ReadSteps
  ClusterOptions cluster;             ///< with nodes: many nodes instead of one
  bool map = false;                   ///< draw the machine after each step; for people only
  std::vector<std::string> files;     ///< manifests that come before `steps`
  std::string replicas;  ///< how many copies of each pod are tried; "max": until one is rejected; "": no copies
};

/// Gives kOk when all pods were admitted, kRejected when one was not, kFailed when something could not be read.
/// All input is read before the first step is taken.
int RunSimulate(const SimulateOptions& options, const Session& session);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_SIMULATE_COMMAND_H_
