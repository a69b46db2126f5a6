// Resource usage tables of `berth top`: containers, pods, QoS classes, NUMA nodes and L3 caches.
#ifndef BERTH_VIEW_USAGE_TABLE_H_
#define BERTH_VIEW_USAGE_TABLE_H_

#include <string>
#include <string_view>

#include "model/machine.h"
#include "model/pod_view.h"
#include "model/stats_summary.h"
#include "view/table.h"

namespace berth::view {

enum class UsageOrder { kCpu, kMemory, kName };

struct UsageOptions {
  UsageOrder order = UsageOrder::kCpu;
  std::string filter;  ///< only pods with this in "namespace/name" or in the name of one of their containers
  TableOptions table;
  bool shares = false;  ///< also percents of what each pod requests, and of its limits
};

/// Makes what was throttled since the start what was since `before`, for a rate. Nothing is known of a cgroup that is
/// new since then.
void CountThrottlingSince(const StatsSummary& before, StatsSummary& stats);

/// Pods by what they use, most first, and so the containers of each; one with several has a row of its own before
/// them. `pods`: where the containers are.
std::string PodUsageTable(const StatsSummary& stats, const PodList& pods, const Machine& machine,
                          const UsageOptions& options = {});

/// Sums of the tiers, of berthd and of the node.
std::string SumUsageTable(const StatsSummary& stats, const TableOptions& options = {});

/// NUMA nodes with what their CPUs do and what of their memory is free, and the L3 caches of each where there are
/// several; "" when nothing is known of them.
std::string PlaceUsageTable(const StatsSummary& stats, const Machine& machine, const TableOptions& options = {});

}  // namespace berth::view

#endif  // BERTH_VIEW_USAGE_TABLE_H_
