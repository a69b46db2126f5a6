// What containers, pods, tiers and the node use, as `berth top` shows it.
#ifndef BERTH_VIEW_USAGE_TABLE_H_
#define BERTH_VIEW_USAGE_TABLE_H_

#include <string>

#include "model/machine.h"
#include "model/pod_view.h"
#include "model/stats_summary.h"
#include "view/table.h"

namespace berth::view {

/// Pods by the CPU they use, most first, and so the containers of each; one with several has a row of its own before
/// them. Then sums of the tiers, of berthd and of the node. `pods`: where the containers are.
std::string UsageTable(const StatsSummary& stats, const PodList& pods, const Machine& machine,
                       const TableOptions& options = {});

}  // namespace berth::view

#endif  // BERTH_VIEW_USAGE_TABLE_H_
