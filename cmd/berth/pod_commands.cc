// The commands about pods, bound to their options.
#include "berth/registry.h"

namespace berth::cli {

std::vector<Command> PodCommands() { return {}; }

}  // namespace berth::cli
