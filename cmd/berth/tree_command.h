// `berth tree`: the cgroup tree, value by value.
#ifndef BERTH_CMD_BERTH_TREE_COMMAND_H_
#define BERTH_CMD_BERTH_TREE_COMMAND_H_

#include "berth/command_context.h"
#include "model/tree_view.h"

namespace berth::cli {

struct TreeOptions {
  bool wrong = false;  ///< only values that differ
};
/// Leaves only values that are not what they should be, and the groups that have some or could not be read.
void KeepWrong(TreeView& tree);
int RunTree(const TreeOptions& options, const Session& session);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_TREE_COMMAND_H_
