// Resource validation: Kubernetes' rules for resource requests, limits and pod overhead.
#ifndef BERTH_MANIFEST_RESOURCE_VALIDATION_H_
#define BERTH_MANIFEST_RESOURCE_VALIDATION_H_

#include "manifest/field_reader.h"
#include "model/pod.h"

namespace berth::manifest {

/// Checks the requests and limits of one container; `path` is that of its "resources".
void CheckContainerResources(const Resources& resources, const Path& path, Report& report);

/// Checks pod-level resources against themselves and against the pod's containers; `path` is "spec.resources".
/// Requires: pod.resources.
void CheckPodResources(const Pod& pod, const Path& path, Report& report);

/// Checks spec.overhead.
void CheckOverhead(const ResourceList& overhead, const Path& path, Report& report);

/// Says once that what containers ask of ephemeral-storage has no effect; `root` is the path of the pod.
void WarnOfStorage(const Pod& pod, const Path& root, Report& report);

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_RESOURCE_VALIDATION_H_
