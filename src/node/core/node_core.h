// Node core: the durable ledger, the cgroups that enforce it, their repair and their recovery, as one object. Front
// ends bring containers to it; it knows none of them. Design: docs/design/daemon.md.
#ifndef BERTH_NODE_CORE_NODE_CORE_H_
#define BERTH_NODE_CORE_NODE_CORE_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "allocator/engine.h"
#include "base/result.h"
#include "host/cgroup/cgroup.h"
#include "host/cgroup/cgroup_names.h"
#include "host/event_loop/executor.h"
#include "host/os/clock.h"
#include "host/os/write_watch.h"
#include "model/decision.h"
#include "model/defrag.h"
#include "model/node_conditions.h"
#include "model/trace.h"
#include "node/cgroup_manager/enforcer.h"
#include "node/checkpoint/store.h"
#include "node/core/held_devices.h"
#include "node/device_manager/plugins.h"
#include "node/ledger/node_allocations.h"
#include "node/ledger/placement_request.h"
#include "node/pods/device_book.h"
#include "node/pods/pod_table.h"
#include "node/reconciler/reconciler.h"
#include "node/recovery/startup_recovery.h"
#include "runtime/lifecycle/runtime.h"
#include "telemetry/events/event_log.h"

namespace berth::core {

struct NodeOptions {
  pods::PodOptions pods;
  reconciler::ReconcilerOptions reconciler;
  recovery::ThisBoot boot;
  cgroup::Names cgroup_names;  ///< of the tree's root
  /// Between two looks at what no event tells of.
  os::Millis reconcile_period{10'000};
  /// Longest time for which pods are worked on before others are served; one step may last longer.
  os::Millis slice{10};
  const cgroup_manager::Ownership* ownership = &cgroup_manager::OwnsContainers();

  /// A kubelet runs the pods: it makes their groups, and evicts.
  void LeaveToKubelet();
};

/// What a node works with; all outlive it. None of the executor's ends may come when it is gone.
struct NodeParts {
  checkpoint::Store& store;
  cgroup::Tree& tree;
  runtime::Runtime& runtime;
  events::EventLog& events;
  const os::Clock& clock;
  event_loop::Executor& executor;
  device_manager::Plugins* plugins = nullptr;  ///< nullptr: this node has no devices of plug-ins
};

/// Thread: the loop's only. Times given must not go backwards.
class Node {
 public:
  Node(const NodeParts& parts, const allocator::Node& node, NodeOptions options);
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// Takes over `saved` (nullopt: no ledger, made from what runs) and what runs: adopts the ledger, finds groups and
  /// containers again, makes the tiers and brings the shared pool in force. Nothing is started or removed. Errors: only
  /// what makes running pods impossible (no cgroups, no runtime).
  Result<void> Recover(const std::optional<checkpoint::Saved>& saved, os::MonoTime now);
  /// Compares the kernel with the ledger where that is due, and repairs what differs, a slice of it at most.
  void Reconcile(os::MonoTime now, const os::Slice& slice) { reconciler_.Check(now, options_.reconcile_period, slice); }
  /// Others wrote to files of cpuset directories. What that changed is looked at soon.
  void OnWrites(os::WriteWatch::Writes writes, os::MonoTime now) { reconciler_.OnWrites(std::move(writes), now); }
  /// What the tree has begun has come further (cgroup::Tree::WaitBehind).
  void OnGroupsAnswered(os::MonoTime now);

  // ---- places: decided (Admit), then made durable (Commit), then in force (pool); the one way for all front ends ----

  /// Where a pod, or one more container of it, would go. Takes nothing: Commit does, and only as long as nothing else
  /// was committed since. Errors: none; one that does not fit is an answer.
  std::variant<ledger::Proposal, Reject> Admit(const ledger::PlacementRequest& request, Trace* trace,
                                               ledger::Asked asked) {
    return allocations_.Propose(request, trace, asked);
  }
  /// As ledger::NodeAllocations::Commit.
  [[nodiscard]] bool Commit(ledger::Proposal proposal, ledger::NodeAllocations::Then then) {
    return allocations_.Commit(std::move(proposal), std::move(then));
  }
  /// As pods::PodTable::Commit.
  template <class Then>
  void Commit(pods::ManagedPod& managed, ledger::Proposal proposal, Then then) {
    pods_.Commit(allocations_, managed, std::move(proposal), std::move(then));
  }
  /// Gives back all that the pod has; `then` as in Commit. False: it has nothing, and `then` is not called.
  template <class Then>
  bool Release(pods::ManagedPod& managed, Then then) {
    auto proposal = allocations_.ProposeRelease(managed.pod.uid);
    if (!proposal) return false;
    Commit(managed, *std::move(proposal), std::move(then));
    return true;
  }
  /// A pod was rejected, here or before it came here; `reason` as in its status.
  void CountRejection(std::string_view reason) { allocations_.CountRejection(reason); }
  /// Something else than a release may let pods in now, as the end of a reservation does.
  void NoteFreed() { allocations_.NoteFreed(); }
  /// Takes a running container (or pod) elsewhere on the node: one record in the ledger, then its CPUs, then its
  /// memory. It is being saved when this returns. Errors: of allocator::PlanMove; kConflict: it does not run, or
  /// something about it is under way; kBusy: the ledger cannot be saved.
  Result<Move> MakeMove(const MoveRequest& request);
  /// Takes what device plug-ins have said, with events. True: what they have is not what it was; pods may get in now.
  bool TakeDevices();
  /// These options are others from now on.
  void Reload(os::Millis reconcile_period, bool adopt_unknown);
  /// Why a pod may not be admitted now for the sake of the node; "": it may. Who says no sees to it that pods are
  /// looked at again.
  std::string WhyNotAdmit(const Pod& pod) const { return reconciler_.pressure().WhyNotAdmit(pod); }
  /// Pods, or what is known of them, have changed: front ends look at them soon.
  void Changed() { agenda().WakeNow(); }

  /// Tells the pod's lifecycle what was known before it, from the runtime and from an earlier berthd.
  void RestoreLifecycle(pods::ManagedPod& managed, os::MonoTime now) const { pods_.RestoreLifecycle(managed, now); }

  // What front ends work with. All are of this node, and outlive the front ends.
  const ledger::NodeAllocations& allocations() const { return allocations_; }
  cgroup_manager::Enforcer& groups() { return groups_; }
  const cgroup_manager::Enforcer& groups() const { return groups_; }
  reconciler::Reconciler& reconciler() { return reconciler_; }
  const reconciler::Reconciler& reconciler() const { return reconciler_; }
  reconciler::PoolReconciler& pool() { return reconciler_.pool(); }
  const reconciler::PoolReconciler& pool() const { return reconciler_.pool(); }
  recovery::StartupRecovery& recovery() { return recovery_; }
  pods::Agenda& agenda() { return pods_.agenda(); }
  const pods::Agenda& agenda() const { return pods_.agenda(); }
  pods::Pods& pods() { return pods_.pods(); }  ///< by uid
  const pods::Pods& pods() const { return pods_.pods(); }
  pods::ContainerStatusCache& statuses() { return pods_.statuses(); }
  pods::PodCheckpoints& checkpoints() { return pods_.checkpoints(); }
  pods::DeviceBook& devices() { return devices_; }
  const pods::DeviceBook& devices() const { return devices_; }
  runtime::Runtime& runtime() const { return parts_.runtime; }
  events::EventLog& events() const { return parts_.events; }
  const os::Clock& clock() const { return parts_.clock; }
  event_loop::Executor& executor() const { return parts_.executor; }
  std::string ObjectOfNode() const { return allocations_.ObjectOfNode(); }
  const NodeOptions& options() const { return options_; }
  /// What keeps pods from being admitted or started beside a lack of room.
  NodeConditions Conditions() const;
  /// Things an operator should know now (ledger not saved, cgroups not written), a sentence each.
  std::vector<std::string> Warnings() const;

 private:
  NodeParts parts_;
  NodeOptions options_;
  ledger::NodeAllocations allocations_;
  cgroup_manager::Enforcer groups_;
  pods::PodTable pods_;
  pods::DeviceBook devices_;
  HeldDevices held_devices_;
  recovery::StartupRecovery recovery_;
  reconciler::Reconciler reconciler_;
};

}  // namespace berth::core

#endif  // BERTH_NODE_CORE_NODE_CORE_H_
