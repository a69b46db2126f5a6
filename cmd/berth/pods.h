// `berth pods` and `berth describe`: what runs on the node and what it holds.
#ifndef BERTH_CMD_BERTH_PODS_H_
#define BERTH_CMD_BERTH_PODS_H_

#include <string>
#include <vector>

#include "berth/session.h"

namespace berth::cli {

struct PodsOptions {
  std::string namespace_;         ///< only these; "": all
  std::vector<std::string> pods;  ///< only these, as PickPod; empty: all
  bool all_namespaces = false;    ///< so it is anyway, for fingers used to it
  bool watch = false;             ///< go on with what changes
};
int RunPods(const PodsOptions& options, const Session& session);

struct DescribeOptions {
  std::string pod;  ///< as PickPod
};
int RunDescribe(const DescribeOptions& options, const Session& session);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_PODS_H_
