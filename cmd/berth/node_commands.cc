// The commands about the node, bound to their options.
#include "berth/registry.h"

namespace berth::cli {

std::vector<Command> NodeCommands() { return {}; }

}  // namespace berth::cli
