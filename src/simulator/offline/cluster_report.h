// Cluster simulation report: outcomes of one cluster under several scheduler rules, as table, JSON and an SVG picture.
#ifndef BERTH_SIMULATOR_OFFLINE_CLUSTER_REPORT_H_
#define BERTH_SIMULATOR_OFFLINE_CLUSTER_REPORT_H_

#include <string>
#include <vector>

#include "api/codec/codec.h"
#include "simulator/offline/cluster_run.h"
#include "view/table.h"

namespace berth::offline {

view::Table ClusterTable(const std::vector<ClusterOutcome>& outcomes);
/// docs/how-to/simulate-a-cluster.md.
codec::Json ToJson(const std::vector<ClusterOutcome>& outcomes);
/// An SVG document: over time, the pods that nodes rejected, the stranded part of the free CPUs, and the pods that
/// wait; a line for each rule.
std::string ClusterPicture(const std::vector<ClusterOutcome>& outcomes);

}  // namespace berth::offline

#endif  // BERTH_SIMULATOR_OFFLINE_CLUSTER_REPORT_H_
