// A node as NodeResourceTopology (topology.node.k8s.io/v1alpha2), for the scheduler plug-in NodeResourceTopologyMatch.
#ifndef BERTH_KUBERNETES_NODE_PUBLISHER_TOPOLOGY_H_
#define BERTH_KUBERNETES_NODE_PUBLISHER_TOPOLOGY_H_

#include <span>
#include <string>

#include "api/codec/codec.h"
#include "kubernetes/node_publisher/pod_fingerprint.h"
#include "model/kubelet_config.h"
#include "model/node_snapshot.h"

namespace berth::node_publisher {

/// The object of the node `name`. `pods`: all that run on the node, for the fingerprint. A zone for each NUMA node:
///  - "node-0", "node-1" and so on by ascending id without a gap, because the plug-in counts on that;
///  - cpu, in whole CPUs: capacity is what is online, allocatable what a container may have for itself, available what
///    nobody has for himself;
///  - memory and huge pages: allocatable as the memory manager has it, all of the node where there is none;
///  - devices that are on NUMA nodes and healthy, in every zone; others are of no zone.
/// A block of memory or a device on several nodes is taken away from each of them in full.
/// `config`: what the node decides by. Requires: nothing in the snapshot that is used (machine, node, ledger, devices)
/// is null.
codec::Json NodeResourceTopology(const std::string& name, const NodeSnapshot& snapshot,
                                 const KubeletConfiguration& config, std::span<const PodName> pods);

}  // namespace berth::node_publisher

#endif  // BERTH_KUBERNETES_NODE_PUBLISHER_TOPOLOGY_H_
