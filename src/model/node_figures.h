// Metrics of berthd: counters and histograms since it was started. Plain values.
#ifndef BERTH_MODEL_NODE_FIGURES_H_
#define BERTH_MODEL_NODE_FIGURES_H_

#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include "base/histogram.h"

namespace berth {

/// Something that was tried, and how often it failed.
struct TriedCount {
  std::uint64_t tried = 0;
  std::uint64_t failed = 0;
  friend bool operator==(const TriedCount&, const TriedCount&) = default;
};

/// What was to be aligned, and to what, in the kubelet's words.
struct AlignmentKind {
  std::string scope;     ///< "container", "pod"
  std::string boundary;  ///< "physical_cpu", "numa_node", "uncore_cache"
  friend auto operator<=>(const AlignmentKind&, const AlignmentKind&) = default;
};

/// Of decisions about pods, as a kubelet counts them.
struct DecisionFigures {
  Histogram time_us;      ///< of one decision, in microseconds
  Histogram time_ms;      ///< the same in milliseconds, with the kubelet's bounds
  TriedCount admissions;  ///< failed: by alignment, or by a manager's allocation
  TriedCount cpu_pinnings;
  TriedCount memory_pinnings;
  std::map<AlignmentKind, TriedCount> alignments;   ///< `tried`: those that are aligned
  std::map<std::string, std::uint64_t> rejections;  ///< pods that were rejected, by the kubelet's reason
  friend bool operator==(const DecisionFigures&, const DecisionFigures&) = default;
};

struct LedgerFigures {
  TriedCount saves;
  Histogram save_seconds;  ///< of those that did not fail: until it was durable and the loop heard of it
  std::uint64_t pool_changes = 0;
  friend bool operator==(const LedgerFigures&, const LedgerFigures&) = default;
};

/// Of device plug-ins, by resource.
struct DeviceFigures {
  std::map<std::string, std::uint64_t> registrations;  ///< the refused ones too
  std::map<std::string, Histogram> allocate_seconds;   ///< of calls of Allocate, the failed ones too
  friend bool operator==(const DeviceFigures&, const DeviceFigures&) = default;
};

/// Calls of the pod resources API that were let through and could be read.
struct PodResourcesFigures {
  TriedCount list;
  TriedCount get_allocatable;
  TriedCount get;  ///< failed: there is no such pod
  std::uint64_t list_alpha = 0;
  friend bool operator==(const PodResourcesFigures&, const PodResourcesFigures&) = default;
};

/// Of one object that is published to a cluster.
struct PublishFigures {
  TriedCount writes;     ///< an object that could not be looked at counts as failed
  bool current = false;  ///< the server has it as it is
  friend bool operator==(const PublishFigures&, const PublishFigures&) = default;
};

struct NodeFigures {
  DecisionFigures decisions;
  LedgerFigures ledger;
  DeviceFigures devices;
  std::map<std::string, PublishFigures> published;  ///< by kind
  /// Beside a kubelet: from a runtime's call until its answer, by the call's name.
  std::map<std::string, Histogram> answer_seconds;
  std::map<std::string, std::uint64_t> events;  ///< by reason; one that was repeated counts each time
  friend bool operator==(const NodeFigures&, const NodeFigures&) = default;
};

}  // namespace berth

#endif  // BERTH_MODEL_NODE_FIGURES_H_
