// `berth describe`: one pod with its reasons, or the node with all that is on it.
#ifndef BERTH_CMD_BERTH_DESCRIBE_COMMAND_H_
#define BERTH_CMD_BERTH_DESCRIBE_COMMAND_H_

#include <map>
#include <string>

#include "base/quantity.h"
#include "berth/command_context.h"

namespace berth::cli {

struct DescribeOptions {
  std::string pod;         ///< as PickPod; "node": the node
  std::string namespace_;  ///< of the pod; "": any
};
int RunDescribe(const DescribeOptions& options, const Session& session);

/// "cpu 2, memory 1Gi".
std::string RequestsText(const ResourceList& requests);
/// "app=web,tier=front".
std::string LabelsText(const std::map<std::string, std::string>& labels);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_DESCRIBE_COMMAND_H_
