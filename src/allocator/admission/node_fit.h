// Node-level admission checks beside the resource managers': refused is a pod whose sum of requests does not fit into
// node allocatable (rules/cgroups#node-fit), that asks for a resource nobody has, or that takes the last CPU of the
// shared pool.
#ifndef BERTH_ALLOCATOR_ADMISSION_NODE_FIT_H_
#define BERTH_ALLOCATOR_ADMISSION_NODE_FIT_H_

#include <optional>

#include "allocator/allocation_state/pod_books.h"
#include "allocator/reason/decision_log.h"
#include "model/decision.h"
#include "model/pod.h"

namespace berth::allocator {

/// The first resource that does not fit, in the kubelet's order (pods, cpu, memory, others by name) and words.
/// nullopt: all fit. Resources the node does not know are passed over unless they are huge pages.
std::optional<Reject> CheckNodeFit(PodBooks& books, const DecisionLog& log);

/// The first limit (by container and name) of a resource that the node does not have and nobody reported or holds, with
/// the nearest one there is. nullopt: all are known. rules/devices#unknown-resources.
std::optional<Reject> CheckKnown(const Pod& pod, const Inputs& inputs, PodBooks& books, const DecisionLog& log);

/// A pod may not take the last CPU of the shared pool. nullopt: it has not.
std::optional<Reject> CheckSharedPool(const PodBooks& books, const DecisionLog& log);

}  // namespace berth::allocator

#endif  // BERTH_ALLOCATOR_ADMISSION_NODE_FIT_H_
