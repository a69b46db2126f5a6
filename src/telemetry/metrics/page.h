// All metrics of a node, from its snapshot and figures. Pure.
#ifndef BERTH_TELEMETRY_METRICS_PAGE_H_
#define BERTH_TELEMETRY_METRICS_PAGE_H_

#include <chrono>
#include <optional>
#include <string>

#include "base/histogram.h"
#include "model/node_figures.h"
#include "model/node_snapshot.h"
#include "model/usage.h"

namespace berth::metrics {

/// Of berthd itself; nullopt: not known.
struct ProcessFigures {
  std::optional<std::chrono::nanoseconds> cpu;
  std::optional<Bytes> resident;
};

struct PageInput {
  const NodeSnapshot& node;
  const Histogram& turns;            ///< of the loop, in seconds
  const NodeUsage* usage = nullptr;  ///< null: it could not be read
  ProcessFigures process;
  std::optional<PodResourcesFigures> pod_resources;  ///< nullopt: that API is not served
};

/// Every family of families.h, in its order, also those without samples.
std::string FormatPage(const PageInput& input);

}  // namespace berth::metrics

#endif  // BERTH_TELEMETRY_METRICS_PAGE_H_
