// `berth map`: the machine as a picture, who holds what, and what would change.
#ifndef BERTH_CMD_BERTH_MAP_COMMAND_H_
#define BERTH_CMD_BERTH_MAP_COMMAND_H_

#include <string>
#include <vector>

#include "berth/command_context.h"

namespace berth::cli {

struct MapCommandOptions {
  std::string machine;            ///< to draw without pods, as machine::Load; "": the node's, with what berthd placed
  std::string config;             ///< with `machine` and `with`: KubeletConfiguration; "": the kubelet's defaults
  std::vector<std::string> with;  ///< manifests of pods to simulate
  std::string compare;            ///< file with a ledger of before; "": nothing to compare with
  int width = 0;                  ///< columns; 0: the terminal's, else 100
  bool ascii = false;
};
/// kRejected when a pod of `with` would find no place.
int RunMap(const MapCommandOptions& options, const Session& session);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_MAP_COMMAND_H_
