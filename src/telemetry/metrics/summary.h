// A reading of what is used as a kubelet's statistics. Pure.
#ifndef BERTH_TELEMETRY_METRICS_SUMMARY_H_
#define BERTH_TELEMETRY_METRICS_SUMMARY_H_

#include "model/stats_summary.h"
#include "model/usage.h"

namespace berth::metrics {

StatsSummary SummaryOf(const NodeUsage& usage);

}  // namespace berth::metrics

#endif  // BERTH_TELEMETRY_METRICS_SUMMARY_H_
