// Calls of a runtime that come while it is decided on the containers that it has: those that may go on, and those that
// wait for that.
#ifndef BERTH_FRONTEND_NRI_AGENT_INVENTORY_GATE_H_
#define BERTH_FRONTEND_NRI_AGENT_INVENTORY_GATE_H_

#include <vector>

#include "frontend/nri_agent/awaited_specs.h"
#include "frontend/nri_agent/container_placer.h"
#include "frontend/nri_agent/nri_session.h"
#include "frontend/nri_agent/reported_pods.h"
#include "frontend/nri_agent/waiting_calls.h"
#include "node/core/node_core.h"
#include "rpc/nri/nri_values.h"

namespace berth::nri_agent {

/// Thread: the loop's only.
class InventoryGate {
 public:
  /// All outlive it.
  InventoryGate(core::Node& node, NriSession& session, ReportedPods& pods, const ContainerPlacer& placer,
                const AwaitedSpecs& specs)
      : node_(node), session_(session), pods_(pods), placer_(placer), specs_(specs) {}

  /// Whether the container that is asked for need not wait.
  bool LetsThrough(const nri::Pod& pod, const nri::Container& container);
  /// What LetsThrough has said of the container last.
  bool HasLetThrough(const nri::Pod& pod, const nri::Container& container) const;
  /// Whether `call` is made later, because it is being decided.
  bool Holds(Call call);
  /// Makes the calls that wait, in their order.
  void Release();
  /// Nobody waits for their answers any more.
  void Drop() { calls_.clear(); }

 private:
  core::Node& node_;
  NriSession& session_;
  ReportedPods& pods_;
  const ContainerPlacer& placer_;
  const AwaitedSpecs& specs_;
  std::vector<Call> calls_;
};

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_INVENTORY_GATE_H_
