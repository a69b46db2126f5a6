// The node's pods without the loop: joins what keeps the ledger, drives pods, writes cgroups and reconciles them.
// Design: docs/design/daemon.md.
//
// Level-triggered: whatever happened, Sync compares what is wanted, what the ledger holds and what runs, and does the
// next steps. Everything that fails is tried again by a later Sync, so that the order below holds through any failure:
//
//   admit    decide -> ledger saved -> shared pool shrunk -> cgroups made and checked -> containers started
//   release  containers ended -> their cgroups seen empty, removed -> ledger saved -> shared pool grown
#ifndef BERTH_DAEMON_POD_MANAGER_H_
#define BERTH_DAEMON_POD_MANAGER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "daemon/periodic_checks.h"
#include "frontend/pod_sources/source.h"
#include "frontend/static_pods/held_devices.h"
#include "frontend/static_pods/sync_loop.h"
#include "host/event_loop/executor.h"
#include "host/os/clock.h"
#include "host/os/write_watch.h"
#include "model/node_conditions.h"
#include "node/cgroup_manager/enforcer.h"
#include "node/checkpoint/store.h"
#include "node/device_manager/plugins.h"
#include "node/ledger/node_allocations.h"
#include "node/pods/parts.h"
#include "node/reconciler/reconciler.h"
#include "node/recovery/startup_recovery.h"
#include "runtime/lifecycle/runtime.h"
#include "telemetry/events/event_log.h"

namespace berth::daemon {

using pods::ManagedPod;

struct ManagerOptions {
  pods::PodOptions pods;
  reconciler::CpuOptions cpus;
  reconciler::MachineOptions machine;
  recovery::ThisBoot boot;
  cgroup::Names cgroup_names;  ///< of the tree's root
  os::Millis reconcile_period{10'000};
  /// Keep groups of pods that Berth did not make in the shared pool, instead of reporting them only.
  bool adopt_unknown = false;
  /// Longest time for which pods are worked on before others are served; one step may last longer.
  os::Millis slice{10};
  /// A kubelet runs the pods (frontend/nri_agent): their CPUs and memory nodes are Berth's to write, and nothing else.
  bool beside_kubelet = false;
  /// Groups of the host to show beside the tree, by setting: path from the top of the hierarchy.
  std::vector<std::pair<std::string, std::string>> host_groups;
};

/// The parts a manager works with; all outlive it. None of the executor's ends may come when it is gone.
struct ManagerParts {
  checkpoint::Store& store;
  cgroup::Tree& tree;
  runtime::Runtime& runtime;
  events::EventLog& events;
  const os::Clock& clock;
  event_loop::Executor& executor;
  event_loop::Executor* probes = nullptr;        ///< asks containers how they are; nullptr: `executor` does
  event_loop::Executor* hooks = nullptr;         ///< runs their hooks; likewise
  device_manager::Plugins* plugins = nullptr;    ///< nullptr: this node has no devices of plug-ins
  event_loop::Executor* plugin_calls = nullptr;  ///< asks them; as `probes`
};

/// Thread: the loop's only. Times given must not go backwards.
class PodManager {
 public:
  PodManager(const ManagerParts& parts, const allocator::Node& node, ManagerOptions options);

  /// Takes over `saved` (nullopt: no ledger, made from what runs) and what runs: adopts the ledger, finds groups and
  /// containers again, makes the tiers and brings the shared pool in force. Nothing is started or removed before the
  /// first snapshot. Errors: only what makes running pods impossible (no cgroups, no runtime).
  Result<void> Start(const std::optional<checkpoint::Saved>& saved, os::MonoTime now);

  /// The source has something new.
  void OnSnapshot(pod_sources::Snapshot snapshot);
  /// The runtime has something new (asks Poll).
  void OnRuntime(os::MonoTime now);
  /// Others wrote to files of cpuset directories. What that changed is looked at soon.
  void OnWrites(os::WriteWatch::Writes writes, os::MonoTime now) { reconciler_.OnWrites(std::move(writes), now); }
  /// What the tree has begun has come further (cgroup::Tree::WaitBehind).
  void OnGroupsAnswered(os::MonoTime now);
  /// Takes a running container (or pod) elsewhere on the node: one record in the ledger, then its CPUs, then its
  /// memory. It is being saved when this returns. Errors: of allocator::PlanMove; kConflict: it does not run, or
  /// something about it is under way; kUnsupported: too much memory would have to be migrated; kBusy: the ledger cannot
  /// be saved.
  Result<Move> MakeMove(const MoveRequest& request);
  /// Device plug-ins have something new.
  void OnDevices();
  /// Plug-ins that did not come back are given up then.
  os::MonoTime next_forgetting() const;
  void ForgetPlugins(os::MonoTime now);
  /// The kernel says that memory runs short.
  void OnMemoryPressure(os::MonoTime now);
  /// All pods are to be looked at (again): that is due at once.
  void Sync() { sync_loop_.Begin(); }
  /// Does what is due at `now`, a slice of it at most; cheap when that is only a look at the kernel's cpusets. What is
  /// left is due at once.
  void Tick(os::MonoTime now);
  /// When Tick has to be called even if nothing happens.
  os::MonoTime next_due() const;

  /// Probes that are due are asked, and their answers taken; when the next one is.
  void TickProbes(os::MonoTime now) { sync_loop_.health().Tick(now); }
  os::MonoTime next_probe() const { return sync_loop_.health().next_due(); }
  /// Nobody is asked any more, and who waits for an answer gives up; no hook is run, nor goes on.
  void StopProbes() {
    sync_loop_.health().Stop();
    sync_loop_.hooks().Stop();
  }

  /// As pods::RestartContainers.
  Result<std::vector<std::string>> Restart(const std::string& uid, os::MonoTime now);

  /// Ends every pod, as if all manifests were gone. idle() tells when it is done.
  void StopAll();
  /// No pod holds anything, nothing runs, and nothing is being saved.
  bool idle() const;
  /// These options are others from now on.
  void Reload(os::Millis reconcile_period, bool adopt_unknown);

  /// For who else works with pods on the loop.
  const pods::Parts& parts() const { return shared_; }
  reconciler::PoolReconciler& pool() { return reconciler_.pool(); }
  const ledger::NodeAllocations& allocations() const { return allocations_; }
  const pods::Pods& pods() const { return pods_; }  ///< by uid
  const std::map<std::string, std::string>& files() const {
    return sync_loop_.manifests().files();
  }  ///< full name -> file
  /// As Manifests::storage.
  std::shared_ptr<const std::string> storage() const { return sync_loop_.manifests().storage(); }
  std::size_t held_bytes() const { return sync_loop_.manifests().held_bytes(); }  ///< likewise
  std::shared_ptr<const Pod> Share(const ManagedPod& managed) const {
    return sync_loop_.manifests().Share(managed);
  }  ///< as Manifests::Share
  const cgroup_manager::Enforcer& groups() const { return groups_; }
  cgroup_manager::Enforcer& groups() { return groups_; }
  const runtime::Runtime& runtime() const { return shared_.runtime; }
  const pods::DeviceBook& devices() const { return devices_; }
  const ManagerOptions& options() const { return options_; }
  std::vector<std::string> AddressesOf(const Pod& pod) const { return shared_.AddressesOf(pod); }
  /// What keeps pods from being admitted or started beside a lack of room.
  NodeConditions Conditions() const;
  allocator::QueueNow WhoWaits() const { return sync_loop_.queue().Now(); }
  /// Changes whenever pods, conditions or warnings may have.
  std::uint64_t turns() const { return turns_; }
  /// Things an operator should know now (ledger not saved, cgroups not written), a sentence each.
  std::vector<std::string> Warnings() const;

 private:
  void Work(os::MonoTime now, const os::Slice& slice);

  ManagerOptions options_;
  ledger::NodeAllocations allocations_;
  cgroup_manager::Enforcer groups_;
  pods::Agenda agenda_;
  pods::Pods pods_;
  pods::ContainerStatusCache records_;
  pods::PodCheckpoints checkpoints_;
  pods::DocumentBook documents_;
  pods::DeviceBook devices_;
  pods::Parts shared_;  // all of the above, for the parts below
  pods::HeldDevices held_devices_;
  recovery::StartupRecovery recovery_;
  reconciler::Reconciler reconciler_;
  pods::SyncLoop sync_loop_;
  PeriodicChecks periodic_checks_;
  std::uint64_t turns_ = 0;
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_POD_MANAGER_H_
