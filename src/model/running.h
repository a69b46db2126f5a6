// Observed container cgroups on a node: input for a ledger made anew and for verification from outside.
#ifndef BERTH_MODEL_RUNNING_H_
#define BERTH_MODEL_RUNNING_H_

#include <string>

#include "base/id_set.h"
#include "model/pod.h"

namespace berth {

/// A container's cgroup as the kernel shows it.
struct RunningGroup {
  std::string path;  ///< below the cgroup root: "kubepods/burstable/pod<uid>/<name>"
  std::string uid;   ///< of the pod
  std::string name;  ///< last part of the path: the container's name, or the id a container runtime gave it
  QosClass qos = QosClass::kBestEffort;  ///< of the tier it is in
  CpuSet cpus;                           ///< effective
  NodeSet mems;                          ///< effective
  bool busy = false;                     ///< has processes
  /// Those of them that SIGKILL was sent to and that go on, as "23 (state D)", eight at most; empty: none, or nobody
  /// has looked.
  std::vector<std::string> survivors{};
  friend bool operator==(const RunningGroup&, const RunningGroup&) = default;
};

}  // namespace berth

#endif  // BERTH_MODEL_RUNNING_H_
