// What there is to say about a decision: why it was taken, what is short and who has it, what would help.
#ifndef BERTH_ENGINE_EXPLANATION_EXPLANATION_H_
#define BERTH_ENGINE_EXPLANATION_EXPLANATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/id_set.h"
#include "base/quantity.h"
#include "engine/reason/observation.h"
#include "model/decision.h"
#include "model/pod.h"
#include "model/trace.h"

namespace berth::engine {

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

}  // namespace berth::engine

#endif  // BERTH_ENGINE_EXPLANATION_EXPLANATION_H_
