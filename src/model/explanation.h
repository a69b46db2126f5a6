// Explanation of a decision: its reasons, the resources that are short and their holders, changes that would admit the
// pod.
#ifndef BERTH_MODEL_EXPLANATION_H_
#define BERTH_MODEL_EXPLANATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id_set.h"
#include "base/quantity.h"
#include "model/decision.h"
#include "model/kubelet_version.h"
#include "model/node_conditions.h"
#include "model/placement.h"
#include "model/pod.h"
#include "model/trace.h"

namespace berth {

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

std::string_view Name(Shortage::Scope scope);  ///< "nodes", "machine", "nodeFit"
/// "cpu: 4 CPUs asked, 2 CPUs of 8 CPUs free on node 0 (2 CPUs short)".
std::string ShortageText(const Shortage& shortage);
/// An amount in the unit of a shortage: "6 CPUs", "1500m", "12Gi", "1 device".
std::string AmountText(std::string_view resource, Shortage::Scope scope, std::int64_t amount);

/// Who has some of a resource that is short.
struct Holder {
  std::string uid;
  std::string pod;  ///< namespace/name; or "CPU pool NAME", which has no uid
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
/// "namespace/name, namespace/name".
std::string RemovalText(const Removal& removal);

struct Explanation {
  Decision decision;
  std::vector<ResourceHints> hints;
  std::vector<MergeStep> merges;
  std::vector<TraceStep> steps;  ///< the whole trace of the decision; empty: the engine was not asked

  // On rejection by the engine only:
  std::vector<Shortage> shortages;
  std::vector<Holder> holders;
  std::optional<NearestRequest> nearest;  ///< nullopt: none found
  /// With `nearest`: the tries lasted to the end. Without: every smaller request in whole steps (CPUs or cores, MiB,
  /// huge pages, devices) was tried, and none is admitted.
  bool nearest_exhaustive = false;
  /// Settings of the node, each as a line of its file, with any one of which it would be admitted now.
  std::vector<std::string> settings{};
  std::optional<Removal> removal;  ///< nullopt: not even an empty node admits it, or the engine did not say no
};

/// What a kubelet of another version would decide otherwise about a container.
struct VersionDifference {
  KubeletVersion version = kDefaultKubeletVersion;
  std::string container;  ///< empty: the whole pod
  std::string here;       ///< "CPUs 0-3, memory 0", or "rejected: REASON"
  std::string there;      ///< as that version
  friend bool operator==(const VersionDifference&, const VersionDifference&) = default;
};

/// What would happen to a pod now: the decision of node, books and queue, and whether it would be waited with.
struct Outlook {
  std::string pod;  ///< namespace/name
  QosClass qos = QosClass::kBestEffort;
  std::string machine;       ///< Machine::source
  bool was_there = false;    ///< the pod was on the node, and is explained as if it were not
  std::optional<Wait> wait;  ///< why it waits all the same; nullopt: what is decided happens now
  Explanation explanation;
  std::vector<std::string> notes{};  ///< what may still be another way, a sentence each
  std::vector<VersionDifference> versions{};
};

}  // namespace berth

#endif  // BERTH_MODEL_EXPLANATION_H_
