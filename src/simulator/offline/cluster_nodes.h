// Nodes of a simulated cluster, from words of the command line.
#ifndef BERTH_SIMULATOR_OFFLINE_CLUSTER_NODES_H_
#define BERTH_SIMULATOR_OFFLINE_CLUSTER_NODES_H_

#include <ostream>
#include <string>
#include <vector>

#include "base/result.h"
#include "simulator/cluster/kind.h"
#include "simulator/offline/offline_node.h"

namespace berth::offline {

/// Equal nodes.
struct NodeGroup {
  std::size_t count = 0;
  cluster::NodeDescription description;
};

/// Reads "COUNT[=MACHINE][,config=FILE][,devices=FILE]" for each group; what a word leaves out is as in `usual`.
/// Errors: as LoadOfflineNode; kInvalid for a word that is not of that form and for more than a million nodes.
Result<std::vector<NodeGroup>> ReadNodeGroups(const std::vector<std::string>& words, const OfflineOptions& usual,
                                              std::ostream& err);

}  // namespace berth::offline

#endif  // BERTH_SIMULATOR_OFFLINE_CLUSTER_NODES_H_
