// The pod that `berth run` makes of its options. Pure.
#ifndef BERTH_CMD_BERTH_RUN_POD_H_
#define BERTH_CMD_BERTH_RUN_POD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "api/codec/codec.h"
#include "base/result.h"
#include "model/node_snapshot.h"

namespace berth::cli {

/// What a command is to have.
struct RunRequest {
  std::string name;  ///< of the pod
  std::string namespace_ = "default";
  std::string cpus;                  ///< "2", "500m"; "": none asked for
  std::string memory;                ///< "1Gi"; "": no limit
  std::string numa;                  ///< "1", "0,2-3": its CPUs and memory are of these; "": of any
  std::vector<std::string> devices;  ///< "vendor.example/gpu" or "vendor.example/gpu=2"
};

/// Who a command runs as, and where, when berthd starts it itself.
struct RunAs {
  std::uint32_t user = 0;
  std::uint32_t group = 0;
  std::vector<std::uint32_t> groups;
  std::string folder;
  std::vector<std::string> environment;  ///< "NAME=value"
};

/// "run-sleep-4711": of a program's path and our pid.
std::string RunName(const std::string& program, int pid);

/// Who names memory and a whole number of CPUs makes a Guaranteed pod, which gets CPUs of its own. Who names no memory
/// has no limit of it, and asks for such CPUs by annotation (docs/rules/own.md#containers). Errors of both: kInvalid
/// naming the option; also when the node's podPolicies do not let the pod ask so.

/// The pod whose container is `command`, run by berthd as `as`.
Result<codec::Json> DetachedPod(const RunRequest& request, const std::vector<std::string>& command, const RunAs& as,
                                const NodeView& node);
/// The pod whose container is a holder (berth/hold.h): `holder` is its command.
Result<codec::Json> HolderPod(const RunRequest& request, const std::vector<std::string>& holder, const NodeView& node);

}  // namespace berth::cli

#endif  // BERTH_CMD_BERTH_RUN_POD_H_
