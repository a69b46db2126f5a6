// `berth check`: a node looked at before Berth is beside its kubelet.
#ifndef BERTH_CMD_BERTH_CHECK_COMMAND_H_
#define BERTH_CMD_BERTH_CHECK_COMMAND_H_

#include <string>

#include "berth/command_context.h"
#include "simulator/offline/offline_node.h"

namespace berth::cli {

/// Empty: what the kubelet's command line says, else the usual place.
struct CheckOptions {
  std::string endpoint;  ///< socket of the container runtime
  std::string nri_socket = "/var/run/nri/nri.sock";
  std::string runtime_config;  ///< of the runtime
  std::string kubelet_config;
  std::string kubelet_dir;
  std::string config;           ///< KubeletConfiguration that Berth would place by
  std::string kubelet_version;  ///< as Name has it; "": that of the berthd that runs here, else of the kubelet
  offline::AskNode ask;         ///< a berthd that runs here
};

/// kOk: nothing is in the way; kRejected: something is; kUnreachable: no container runtime answers, all else is shown;
/// kFailed: this host or the configuration cannot be read.
int RunCheck(CheckOptions options, const Session& session);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_CHECK_COMMAND_H_
