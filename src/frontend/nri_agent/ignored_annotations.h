// Warnings about annotations of a kubelet's pod that have no effect.
#ifndef BERTH_FRONTEND_NRI_AGENT_IGNORED_ANNOTATIONS_H_
#define BERTH_FRONTEND_NRI_AGENT_IGNORED_ANNOTATIONS_H_

#include <string>

#include "frontend/nri_agent/tracked_containers.h"
#include "model/pod.h"
#include "node/core/node_core.h"

namespace berth::nri_agent {

/// Those for container `name`, and once for each pod those that look like Berth's own and are none.
void WarnOfIgnoredAnnotations(const core::Node& node, TrackedPod& tracked, const Pod& pod, const std::string& name);

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_IGNORED_ANNOTATIONS_H_
