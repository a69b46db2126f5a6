// Node score of a placement by fit: docs/design/fleet.md, "Which node".
#ifndef BERTH_SIMULATOR_CLUSTER_NODE_SCORE_H_
#define BERTH_SIMULATOR_CLUSTER_NODE_SCORE_H_

#include "simulator/cluster/allocation_state.h"
#include "simulator/cluster/kind.h"

namespace berth::cluster {

/// What a node is preferred for, among those that admit a pod.
enum class Preference {
  kTight,     ///< NUMA nodes with the least left, so that large requests find whole ones elsewhere
  kBalanced,  ///< kTight, and CPUs and memory left in the machine's proportion
  kPacked,    ///< nodes of which the most is requested (kube-scheduler's MostAllocated)
  kSpread,    ///< nodes of which the least is requested (kube-scheduler's LeastAllocated)
};

/// Of a decision on one state. Parts of 1.
struct Fitness {
  bool in_zones = false;  ///< it takes CPUs or memory of NUMA nodes
  float loss = 0;         ///< what large requests lose on the NUMA nodes it takes from
  float imbalance = 0;    ///< between CPUs and memory that are left on these
};
Fitness FitnessOf(const Kind& kind, const Spare& before, const Spare& after);

/// Of a node's sums: what would be requested of its CPUs and its memory afterwards, and before. Parts of 1.
struct Load {
  float cpu = 0;
  float memory = 0;
  float cpu_before = 0;
  float memory_before = 0;
};

constexpr int kBestScore = 1000;
/// 0 to kBestScore.
int ScoreOf(Preference preference, const Fitness& fitness, const Load& load);

}  // namespace berth::cluster

#endif  // BERTH_SIMULATOR_CLUSTER_NODE_SCORE_H_
