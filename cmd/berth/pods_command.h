// `berth pods`: what runs on the node and what it holds.
#ifndef BERTH_CMD_BERTH_PODS_COMMAND_H_
#define BERTH_CMD_BERTH_PODS_COMMAND_H_

#include <string>
#include <vector>

#include "berth/command_context.h"
#include "model/pod_view.h"

namespace berth::cli {

struct PodsOptions {
  std::string namespace_;         ///< only these; "": all
  std::vector<std::string> pods;  ///< only these, as PickPod; empty: all
  bool watch = false;             ///< go on with what changes
  std::string selector;           ///< as Selector::Parse; "": all
};
/// Those of berthd's pods that are asked for. Errors: as PickPod, Selector::Parse and api::NodeClient.
Result<PodList> ChoosePods(const Session& session, const PodsOptions& options);
int RunPods(const PodsOptions& options, const Session& session);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_PODS_COMMAND_H_
