// Node conditions that delay admission or start of pods, beside a shortage of resources.
#ifndef BERTH_MODEL_NODE_CONDITIONS_H_
#define BERTH_MODEL_NODE_CONDITIONS_H_

#include <optional>
#include <string>
#include <vector>

#include "model/pod.h"

namespace berth {

struct NodeConditions {
  bool memory_pressure = false;
  bool pid_pressure = false;
  /// Why the ledger could not be saved last; "": it could. No pod is admitted and nothing given back meanwhile.
  std::string ledger_problem;
  /// Why the shared pool is not in force in the kernel; "": it is. No container with CPUs of its own is started
  /// meanwhile.
  std::string pool_problem;
  /// Why the container runtime cannot be asked; "": it answers. Nothing is started or ended meanwhile.
  std::string runtime_problem;
  /// Pods (namespace/name) that are ending and still hold their place.
  std::vector<std::string> releasing;
  friend bool operator==(const NodeConditions&, const NodeConditions&) = default;
};

/// Why a pod has to wait, in the words of its status.
struct Wait {
  std::string reason;  ///< "LedgerNotSaved", "NodeUnderPressure", "WaitingForPlugin", "WaitingForRelease",
                       ///< "WaitingForRoom", ...
  std::string message;
  friend bool operator==(const Wait&, const Wait&) = default;
};

/// Never evicted, and admitted whatever is short: system-cluster-critical and above.
bool IsCritical(const Pod& pod);

/// Why a pod is not even decided on under the node's pressure; nullopt: it is.
std::optional<Wait> PressureWait(bool memory_pressure, bool pid_pressure, const Pod& pod);

}  // namespace berth

#endif  // BERTH_MODEL_NODE_CONDITIONS_H_
