// Prometheus metrics of berth-scheduler (/metrics): docs/reference/berth-scheduler.md lists the same.
#ifndef BERTH_KUBERNETES_SCHEDULER_SERVER_FIGURES_H_
#define BERTH_KUBERNETES_SCHEDULER_SERVER_FIGURES_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/histogram.h"
#include "kubernetes/scheduler_server/cluster.h"

namespace berth::scheduler_server {

/// What the scheduler calls.
enum class Verb { kFilter, kPrioritize };
inline constexpr std::array kVerbs = {Verb::kFilter, Verb::kPrioritize};
std::string_view Name(Verb verb);  ///< "filter", "prioritize"

/// What became of a call.
enum class Outcome {
  kAnswered,
  kNotReady,  ///< not all of the cluster is known yet
  kInvalid,   ///< it makes no sense, or is above the bounds
  kRefused,   ///< too many pods are undecided
};
inline constexpr std::array kOutcomes = {Outcome::kAnswered, Outcome::kNotReady, Outcome::kInvalid, Outcome::kRefused};
std::string_view Name(Outcome outcome);

/// Seconds a call takes: 20 ms are meant for 5 000 nodes, and then what a wait adds.
inline constexpr std::array kCallBounds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5};

struct CallFigures {
  std::array<std::array<std::uint64_t, kOutcomes.size()>, kVerbs.size()> counts = {};  ///< by verb and outcome
  std::array<Histogram, kVerbs.size()> seconds = {Histogram(kCallBounds), Histogram(kCallBounds)};
};

/// As Prometheus reads it. Pure.
std::string FormatMetrics(const ClusterFigures& cluster, const CallFigures& calls);

}  // namespace berth::scheduler_server

#endif  // BERTH_KUBERNETES_SCHEDULER_SERVER_FIGURES_H_
