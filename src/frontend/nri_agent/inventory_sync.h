// Synchronization with the inventory of a runtime: all pods and containers that it has when it takes berthd in are
// found, decided on in one change of the ledger, and put in force, a slice at a time.
#ifndef BERTH_FRONTEND_NRI_AGENT_INVENTORY_SYNC_H_
#define BERTH_FRONTEND_NRI_AGENT_INVENTORY_SYNC_H_

#include <cstddef>
#include <functional>
#include <utility>

#include "base/result.h"
#include "frontend/nri_agent/awaited_devices.h"
#include "frontend/nri_agent/container_groups.h"
#include "frontend/nri_agent/container_placer.h"
#include "frontend/nri_agent/inventory_gate.h"
#include "frontend/nri_agent/nri_session.h"
#include "frontend/nri_agent/pod_departures.h"
#include "frontend/nri_agent/reported_pods.h"
#include "frontend/nri_agent/tracked_containers.h"
#include "host/os/clock.h"
#include "node/core/node_core.h"
#include "rpc/nri/handler.h"

namespace berth::nri_agent {

/// What it works with; all outlive it.
struct InventorySyncParts {
  core::Node& node;
  TrackedContainers& tracked;
  NriSession& session;
  ContainerGroups& groups;
  PodDepartures& departures;
  ReportedPods& pods;
  ContainerPlacer& placer;
  AwaitedDevices& devices;
  InventoryGate& gate;
};

/// Its state is the session's `Synchronizing`. Thread: the loop's only.
class InventorySync {
 public:
  /// `synchronized` is called when all is in force.
  InventorySync(const InventorySyncParts& parts, std::function<void()> synchronized)
      : parts_(parts), synchronized_(std::move(synchronized)) {}

  /// False: Berth has stepped aside, nothing is done.
  bool Begin(nri::Inventory inventory);
  void Tick(os::MonoTime now);
  os::MonoTime next_due() const;

 private:
  Synchronizing& state() { return *parts_.session.As<Synchronizing>(); }
  void GoOn(os::MonoTime now);
  void FindPod(std::size_t index);
  bool LacksItsCpus(const ContainerKey& who, const nri::Container& container) const;
  void OnPodsKnown();
  void EndUnlisted();
  void BeginBatch();
  void Decide(const nri::Pod& pod, const nri::Container& container);
  void CommitBatch();
  void OnSaved(const Result<void>& saved);
  void PutInForce(const os::Slice& slice);
  void RetainCheckpoints();

  InventorySyncParts parts_;
  std::function<void()> synchronized_;
};

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_INVENTORY_SYNC_H_
