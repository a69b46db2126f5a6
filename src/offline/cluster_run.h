// A cluster on paper, and one scheduler's rule: which pods find a place, and what becomes of the CPUs and memory.
#ifndef BERTH_OFFLINE_CLUSTER_RUN_H_
#define BERTH_OFFLINE_CLUSTER_RUN_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "fleet/fleet.h"
#include "offline/cluster_workload.h"

namespace berth::offline {

/// What a scheduler knows of nodes.
enum class SchedulerRule {
  kDefault,   ///< sums of requests; the node may say no
  kTopology,  ///< and what each NUMA node has available, as NodeResourceTopologyMatch believes it; the node may say no
  kExtender,  ///< and what the node itself would say
  kExtenderAll,  ///< likewise, asked about all nodes: percentageOfNodesToScore is 100
};
std::string_view Name(SchedulerRule rule);  ///< "default", "topology", "extender", "extender-all"

/// How many nodes that can take a pod kube-scheduler looks for before it compares them, when its configuration does not
/// say percentageOfNodesToScore.
std::size_t EnoughToCompare(std::size_t nodes);

struct ClusterRules {
  SchedulerRule rule = SchedulerRule::kDefault;
  fleet::Preference preference = fleet::Preference::kBalanced;  ///< of the extender; the others spread
};

/// The cluster at one time. What is free is allocatable and not requested; what of it is stranded cannot be had by
/// further pods of the usual request (Workload::usual), however many come.
struct ClusterSample {
  double at_s = 0;
  std::size_t running = 0;
  std::size_t waiting = 0;
  std::size_t rejected = 0;  ///< by nodes, since the start
  std::int64_t free_cpus = 0;
  std::int64_t stranded_cpus = 0;
  std::int64_t free_memory = 0;
  std::int64_t stranded_memory = 0;
};

struct ClusterOutcome {
  ClusterRules rules;
  std::size_t came = 0;
  std::size_t admitted = 0;
  std::size_t at_once = 0;             ///< admitted when they came
  std::size_t rejected = 0;            ///< by nodes; a pod counts as often as it happens
  std::size_t waiting = 0;             ///< at the end
  double waited_s = 0;                 ///< of those that were admitted, in sum
  std::int64_t cpus = 0;               ///< allocatable
  std::vector<ClusterSample> samples;  ///< about 200, each after as many arrivals
};

/// Lets the pods come and go. `fleet` is empty of pods, and is not afterwards. A pod that finds no node, or that its
/// node rejects (a controller makes it anew), is tried again every 5 s, in the order in which they came.
ClusterOutcome RunCluster(fleet::Fleet& fleet, const Workload& workload, const ClusterRules& rules);

/// Means over the samples of the second half.
struct ClusterMeans {
  double requested = 0;  ///< part of the allocatable CPUs that is requested
  double stranded_cpus = 0;
  double stranded_memory = 0;
  double fragmentation = 0;  ///< part of the free CPUs that is stranded
};
ClusterMeans MeansOf(const ClusterOutcome& outcome);

}  // namespace berth::offline

#endif  // BERTH_OFFLINE_CLUSTER_RUN_H_
