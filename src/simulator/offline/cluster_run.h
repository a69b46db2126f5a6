// Run of a simulated cluster under one scheduler's rule: which pods find a place, and what becomes of the CPUs and
// memory.
#ifndef BERTH_SIMULATOR_OFFLINE_CLUSTER_RUN_H_
#define BERTH_SIMULATOR_OFFLINE_CLUSTER_RUN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/cluster/fleet.h"
#include "simulator/offline/cluster_workload.h"

namespace berth::offline {

/// What a scheduler knows of nodes.
enum class SchedulerRule {
  kDefault,   ///< sums of requests; the node may say no
  kTopology,  ///< and what each NUMA node has available, as NodeResourceTopologyMatch believes it; the node may say no
  kExtender,  ///< and what the node itself would say
};
std::string_view Name(SchedulerRule rule);  ///< "default", "topology", "extender"

struct ClusterRules {
  SchedulerRule rule = SchedulerRule::kDefault;
  /// kube-scheduler's percentageOfNodesToScore: it looks for so many nodes that can take a pod by sums, and compares
  /// (or asks an extender about) no others. 0: its own choice, 50 at 100 nodes, less with more of them, 5 at least.
  unsigned percent_to_score = 0;
  cluster::Preference preference = cluster::Preference::kBalanced;  ///< of kExtender; the others spread
};

/// "extender"; "extender, 100%" where the part of the nodes is given.
std::string RowName(const ClusterRules& rules);

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

/// What came of the pods that come; those that are there from the start do not count.
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

/// Told now and then how much is done, parts of 1.
using ClusterProgress = std::function<void(double done)>;

/// Lets the pods come and go. `fleet` is empty of pods, and is not afterwards. A pod that finds no node, or that its
/// node rejects (a controller makes it anew), is tried again every 5 s, in the order in which they came. Those that are
/// there from the start are placed one after the other, and left out where they find no place.
ClusterOutcome RunCluster(cluster::Fleet& fleet, const Workload& workload, const ClusterRules& rules,
                          const ClusterProgress& progress = {});

/// Means over the samples of the second half.
struct ClusterMeans {
  double requested = 0;  ///< part of the allocatable CPUs that is requested
  double stranded_cpus = 0;
  double stranded_memory = 0;
  double fragmentation = 0;  ///< part of the free CPUs that is stranded
};
ClusterMeans MeansOf(const ClusterOutcome& outcome);

}  // namespace berth::offline

#endif  // BERTH_SIMULATOR_OFFLINE_CLUSTER_RUN_H_
