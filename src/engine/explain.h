// Why a pod is placed where it is, or why not and what would help. Every claim was tried with Decide before it is made.
#ifndef BERTH_ENGINE_EXPLAIN_H_
#define BERTH_ENGINE_EXPLAIN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace berth::engine {

/// What one resource said for one container (or for the whole pod: container is empty).
struct ResourceHints {
  std::string container;
  std::string resource;
  Hints hints;           ///< nullopt: no preference; empty list: impossible. Narrowest first
  bool complete = true;  ///< false: there are too many sets to list; the narrowest, lowest one stands for them
  friend bool operator==(const ResourceHints&, const ResourceHints&) = default;
};

/// What was merged from them.
struct MergeStep {
  std::string container;  ///< empty: the whole pod
  TopologyHint merged;
  bool admit = false;
  std::string rule;  ///< which rule decided, one clause
  friend bool operator==(const MergeStep&, const MergeStep&) = default;
};

/// Amounts are CPUs for "cpu", thousandths of a CPU under kNodeFit, bytes for memory and huge pages, devices otherwise.
struct Shortage {
  enum class Scope { kNodes, kMachine, kNodeFit };
  std::string container;  ///< empty: the whole pod
  std::string resource;
  Scope scope = Scope::kNodes;
  NodeSet nodes;  ///< the nodes looked at
  std::int64_t requested = 0;
  std::int64_t free = 0;      ///< what could be given there
  std::int64_t capacity = 0;  ///< what could be given there if nothing ran
  std::int64_t missing = 0;   ///< requested - free, > 0
  friend bool operator==(const Shortage&, const Shortage&) = default;
};

/// Who has some of a resource that is short.
struct Holder {
  std::string uid;
  std::string pod;  ///< namespace/name
  std::string container;
  std::string resource;
  std::int64_t amount = 0;  ///< unit as in Shortage
  NodeSet nodes;            ///< where; empty: no node in particular
  friend bool operator==(const Holder&, const Holder&) = default;
};

/// A request that would have to be smaller (or, for CPUs, a whole number).
struct RequestChange {
  std::string container;
  std::string resource;
  Quantity from;
  Quantity to;
  friend bool operator==(const RequestChange&, const RequestChange&) = default;
};

/// Changes to one pod after which it is admitted now.
struct NearestRequest {
  Pod pod;  ///< the pod with the changes applied
  std::vector<RequestChange> changes;
};

struct PodRef {
  std::string uid;
  std::string pod;  ///< namespace/name
  friend bool operator==(const PodRef&, const PodRef&) = default;
};

/// Pods after whose release this one is admitted.
struct Removal {
  std::vector<PodRef> pods;
  bool smallest = true;  ///< no smaller set does; false: there were too many sets to try them all
};

struct Explanation {
  Decision decision;
  std::vector<ResourceHints> hints;
  std::vector<MergeStep> merges;
  std::vector<TraceStep> steps;  ///< the whole trace of the decision

  // On rejection only:
  std::vector<Shortage> shortages;
  std::vector<Holder> holders;
  std::optional<NearestRequest> nearest;  ///< nullopt: none found
  /// With `nearest`: the tries lasted to the end. Without: every smaller request in whole steps (CPUs or cores, MiB,
  /// huge pages, devices) was tried, and none is admitted.
  bool nearest_exhaustive = false;
  std::optional<Removal> removal;  ///< nullopt: not even an empty node admits it
};

/// Decides `pod` as Decide does and explains it. Requires: as Decide.
Explanation Explain(const Node& node, const Ledger& ledger, const Pod& pod, const Inputs& inputs);

}  // namespace berth::engine

#endif  // BERTH_ENGINE_EXPLAIN_H_
