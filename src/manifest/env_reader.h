// Tree -> a container's environment, with what the manifest itself can answer already put in.
#ifndef BERTH_MANIFEST_ENV_READER_H_
#define BERTH_MANIFEST_ENV_READER_H_

#include <vector>

#include "manifest/object.h"
#include "manifest/pod_options.h"
#include "manifest/tree.h"
#include "model/pod.h"

namespace berth::manifest {

/// Where references of a variable lead. Lifetime: the nodes outlive the call.
struct EnvScope {
  const Node& spec;       ///< of the pod
  const Node& container;  ///< whose environment it is
  const PodOptions& options;
};

/// Whether a reference to a secret or configmap, in the environment or a volume, says `optional: true`.
bool SaysOptional(const Node& reference);

/// env and envFrom. resourceFieldRef and the service account's name become values, as the kubelet words them; a limit
/// that is not given (a kubelet takes the node's allocatable) is a problem, or a warning for pods that do not run.
/// Optional references to secrets and configmaps are left out; others are a problem or warning here if nobody runs the
/// pod, else the field table's.
void ReadEnvironment(Object& container, const EnvScope& scope, std::vector<EnvVar>& out);

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_ENV_READER_H_
