// Placement of a kubelet's containers: a place for each that is made, and a later one for those that run in the shared
// pool for want of one.
#ifndef BERTH_FRONTEND_NRI_AGENT_CONTAINER_PLACER_H_
#define BERTH_FRONTEND_NRI_AGENT_CONTAINER_PLACER_H_

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <variant>

#include "frontend/nri_agent/container_groups.h"
#include "frontend/nri_agent/container_key.h"
#include "frontend/nri_agent/nri_session.h"
#include "frontend/nri_agent/tracked_containers.h"
#include "host/os/clock.h"
#include "model/decision.h"
#include "node/core/node_core.h"
#include "node/ledger/placement_request.h"
#include "node/pods/managed_pod.h"

namespace berth::nri_agent {

/// Containers that are given to it are in the node's pod table. Thread: the loop's only.
class ContainerPlacer {
 public:
  /// "": it may be made; else why not.
  using Placed = std::function<void(const std::string& why_not)>;

  /// All outlive it. `share_unplaced`: as in NriAllocatorOptions.
  ContainerPlacer(core::Node& node, TrackedContainers& tracked, NriSession& session, ContainerGroups& groups,
                  bool share_unplaced)
      : node_(node), tracked_(tracked), session_(session), groups_(groups), share_unplaced_(share_unplaced) {}

  /// Of one that is to have something of its own with the devices that the kubelet has given it.
  ledger::PlacementRequest RequestFor(const pods::ManagedPod& managed, const std::string& name,
                                      const allocator::Node& node, Trace* trace) const;
  /// `then` is called once it is known, at once where nothing has to be made durable first.
  void Place(const ContainerKey& who, Placed then);
  /// Brings the places of others in force, if the container has CPUs or memory of its own. "": nobody is on them any
  /// more.
  std::string WhyNotInForce(const ContainerKey& who);
  /// A container that ran already has its place now; `how` it came to that, for people.
  void ApplyLate(const ContainerKey& who, std::string_view how);
  /// It has its place: why it was refused is over, unless another container of its pod is without.
  void ClearReason(const ContainerKey& who);

  /// It runs in the shared pool until something is given back. False: that was known.
  bool AddUnplaced(const ContainerKey& who) { return unplaced_.insert(who).second; }
  /// The ledger could not be saved: they run in the shared pool until it can.
  void PlaceLater(std::set<ContainerKey> unsaved);
  /// It does not run any more.
  void ForgetUnplaced(const ContainerKey& who) { unplaced_.erase(who); }
  void ForgetUnplaced() { unplaced_.clear(); }

  void Tick(os::MonoTime now);
  os::MonoTime next_due() const;

 private:
  std::variant<ledger::Proposal, Reject> Propose(const pods::ManagedPod& managed, const std::string& name,
                                                 Trace* trace);
  std::string TakeReject(pods::ManagedPod& managed, const std::string& name, const Reject& reject);
  void KeepReason(const std::string& uid, pods::Why why);
  void FollowInBatch(const ContainerKey& who);
  void OnSaved(const ContainerKey& who, bool own, const Result<void>& saved, const Placed& then);
  bool KeepApart();
  std::string NotInForce() const;
  bool MayTryUnplaced() const;
  void TryAgain(const ContainerKey& who);

  core::Node& node_;
  TrackedContainers& tracked_;
  NriSession& session_;
  ContainerGroups& groups_;
  const bool share_unplaced_;
  std::set<ContainerKey> unplaced_;  // run in the shared pool though they should not
  bool retry_unplaced_ = false;      // the ledger could not be saved for one of them
  std::uint64_t freed_ = 0;          // NodeAllocations::freed() when they were tried last
};

}  // namespace berth::nri_agent

#endif  // BERTH_FRONTEND_NRI_AGENT_CONTAINER_PLACER_H_
