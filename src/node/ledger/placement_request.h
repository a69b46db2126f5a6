// Placement request: a pod, or one more container of it, and the decision about it on given books. Pure.
#ifndef BERTH_NODE_LEDGER_PLACEMENT_REQUEST_H_
#define BERTH_NODE_LEDGER_PLACEMENT_REQUEST_H_

#include <optional>
#include <string>

#include "allocator/engine.h"
#include "model/decision.h"
#include "model/ledger.h"
#include "model/pod.h"
#include "model/trace.h"

namespace berth::ledger {

struct PlacementRequest {
  Pod pod;
  std::string container{};  ///< one more container of it, whose others keep what they have; "": the whole pod
  allocator::Inputs inputs{};
  /// Only with `container`. A kubelet runs the pod: this is its QoS class, whatever `pod` asks for, and its devices are
  /// the kubelet's: a ledger with them would release, check and publish what is not Berth's. nullopt: Berth runs it.
  std::optional<QosClass> kubelets{};
};

/// Where it would go. Every admission of a pod or a container is decided here; resizes and moves are not.
Decision Decide(const allocator::Node& node, const Ledger& ledger, const PlacementRequest& request, Trace* trace);

/// CPUs or memory that are not for all: its own, or a named pool's CPUs. `placement` may be null.
bool IsOwn(const Placement* placement);

}  // namespace berth::ledger

#endif  // BERTH_NODE_LEDGER_PLACEMENT_REQUEST_H_
