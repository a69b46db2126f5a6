// Tree -> what is asked of a container while it runs and when it ends: ports, probes, hooks, restart rules.
#ifndef BERTH_MANIFEST_CHECKS_READER_H_
#define BERTH_MANIFEST_CHECKS_READER_H_

#include "manifest/field_reader.h"
#include "model/pod.h"

namespace berth::manifest {

/// Reads these fields of a container, with defaults and their rules: ports, livenessProbe, readinessProbe,
/// startupProbe, lifecycle, restartPolicy, restartPolicyRules, terminationMessagePath and -Policy. `init`: one of
/// spec.initContainers.
void ReadContainerChecks(Object& container, bool init, Container& out);

/// What needs more than the container: its hooks' signals go by `pod.os`. `path` is the container's.
void CheckContainerChecks(const Pod& pod, const Container& container, const Path& path, Report& report);

}  // namespace berth::manifest

#endif  // BERTH_MANIFEST_CHECKS_READER_H_
