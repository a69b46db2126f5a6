// Pod resources API responses (List, Get, GetAllocatableResources), made of a snapshot of the node. Rules:
// docs/reference/pod-resources.md.
#ifndef BERTH_KUBERNETES_POD_RESOURCES_POD_RESOURCES_RESPONSES_H_
#define BERTH_KUBERNETES_POD_RESOURCES_POD_RESOURCES_RESPONSES_H_

#include <string_view>

#include "model/node_snapshot.h"
#include "podresources.pb.h"

namespace berth::pod_resources {

/// Its containers may run, or it holds something: neither refused nor over.
bool IsActive(const NodeSnapshot& snapshot, const PodSnapshot& pod);

/// Sidecars in the manifest's order, then app containers, with what they hold.
v1::PodResources ResourcesOf(const NodeSnapshot& snapshot, const PodSnapshot& pod);

/// Pods by namespace and name; with `only_active` those of IsActive.
v1::ListPodResourcesResponse ListPods(const NodeSnapshot& snapshot, bool only_active);

/// What the node could give if nobody had anything.
v1::AllocatableResourcesResponse AllocatableOf(const NodeSnapshot& snapshot);

/// As v1alpha1 has it, whose messages have the same numbers: all pods, app containers, devices without their nodes.
v1::ListPodResourcesResponse ListPodsAlpha(const NodeSnapshot& snapshot);

}  // namespace berth::pod_resources

#endif  // BERTH_KUBERNETES_POD_RESOURCES_POD_RESOURCES_RESPONSES_H_
