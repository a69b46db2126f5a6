// `berth map`, `berth node`, `berth status`: the node as a whole.
#ifndef BERTH_CMD_BERTH_NODE_H_
#define BERTH_CMD_BERTH_NODE_H_

#include <string>

#include "berth/session.h"

namespace berth::cli {

struct MapCommandOptions {
  std::string from;  ///< a machine to draw without pods, as machine::Load; "": the node's, with what berthd placed
  int width = 0;     ///< columns; 0: the terminal's, else 100
  bool ascii = false;
};
int RunMap(const MapCommandOptions& options, const Session& session);

int RunNode(const Session& session);
int RunStatus(const Session& session);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_NODE_H_
