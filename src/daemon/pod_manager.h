// The node's pods without the loop: joins what keeps the books, drives pods, writes cgroups and guards them. Design:
// docs/design/daemon.md.
//
// Level-triggered: whatever happened, Sync compares what is wanted, what the ledger holds and what runs, and does the
// next steps. Everything that fails is tried again by a later Sync, so that the order below holds through any failure:
//
//   admit    decide -> ledger saved -> shared pool shrunk -> cgroups made and checked -> containers started
//   release  containers ended -> their cgroups seen empty, removed -> ledger saved -> shared pool grown
#ifndef BERTH_DAEMON_POD_MANAGER_H_
#define BERTH_DAEMON_POD_MANAGER_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "daemon/reconciler.h"
#include "enforce/enforcer.h"
#include "events/event_log.h"
#include "guard/guard.h"
#include "keeper/keeper.h"
#include "loop/executor.h"
#include "model/node_conditions.h"
#include "os/clock.h"
#include "os/write_watch.h"
#include "plugin/plugins.h"
#include "pods/held_devices.h"
#include "pods/parts.h"
#include "pods/rounds.h"
#include "runtime/runtime.h"
#include "source/source.h"
#include "state/store.h"
#include "takeover/startup_recovery.h"

namespace berth::daemon {

using pods::ManagedPod;

struct ManagerOptions {
  pods::PodOptions pods;
  guard::CpuOptions cpus;
  guard::MachineOptions machine;
  takeover::ThisBoot boot;
  cgroup::Names cgroup_names;  ///< of the tree's root
  os::Millis reconcile_period{10'000};
  /// Keep groups of pods that Berth did not make in the shared pool, instead of reporting them only.
  bool adopt_unknown = false;
  /// Longest time for which pods are worked on before others are served; one step may last longer.
  os::Millis slice{10};
  /// A kubelet runs the pods (room `beside`): their CPUs and memory nodes are Berth's to write, and nothing else.
  bool beside_kubelet = false;
  /// Groups of the host to show beside the tree, by setting: path from the top of the hierarchy.
  std::vector<std::pair<std::string, std::string>> host_groups;
};

/// The parts a manager works with; all outlive it. None of the executor's ends may come when it is gone.
struct ManagerParts {
  state::Store& store;
  cgroup::Tree& tree;
  runtime::Runtime& runtime;
  events::EventLog& events;
  const os::Clock& clock;
  loop::Executor& executor;
  loop::Executor* probes = nullptr;        ///< asks containers how they are; nullptr: `executor` does
  loop::Executor* hooks = nullptr;         ///< runs their hooks; likewise
  plugin::Plugins* plugins = nullptr;      ///< nullptr: this node has no devices of plug-ins
  loop::Executor* plugin_calls = nullptr;  ///< asks them; as `probes`
};

/// Thread: the loop's only. Times given must not go backwards.
class PodManager {
 public:
  PodManager(const ManagerParts& parts, const engine::Node& node, ManagerOptions options);

  /// Takes over `saved` (nullopt: no ledger, made from what runs) and what runs: adopts the ledger, finds groups and
  /// containers again, makes the tiers and brings the shared pool in force. Nothing is started or removed before the
  /// first snapshot. Errors: only what makes running pods impossible (no cgroups, no runtime).
  Result<void> Start(const std::optional<state::Saved>& saved, os::MonoTime now);

  /// The source has something new.
  void OnSnapshot(source::Snapshot snapshot);
  /// The runtime has something new (asks Poll).
  void OnRuntime(os::MonoTime now);
  /// Others wrote to files of cpuset directories. What that changed is looked at soon.
  void OnWrites(os::WriteWatch::Writes writes, os::MonoTime now) { guard_.OnWrites(std::move(writes), now); }
  /// What the tree has begun has come further (cgroup::Tree::WaitBehind).
  void OnGroupsAnswered(os::MonoTime now);
  /// Takes a running container (or pod) elsewhere on the node: one record in the ledger, then its CPUs, then its
  /// memory. It is being saved when this returns. Errors: of engine::PlanMove; kConflict: it does not run, or something
  /// about it is under way; kUnsupported: too much memory would have to be migrated; kBusy: the ledger cannot be saved.
  Result<Move> MakeMove(const MoveRequest& request);
  /// Device plug-ins have something new.
  void OnDevices();
  /// Plug-ins that did not come back are given up then.
  os::MonoTime next_forgetting() const;
  void ForgetPlugins(os::MonoTime now);
  /// The kernel says that memory runs short.
  void OnMemoryPressure(os::MonoTime now);
  /// All pods are to be looked at (again): that is due at once.
  void Sync() { rounds_.Begin(); }
  /// Does what is due at `now`, a slice of it at most; cheap when that is only a look at the kernel's cpusets. What is
  /// left is due at once.
  void Tick(os::MonoTime now);
  /// When Tick has to be called even if nothing happens.
  os::MonoTime next_due() const;

  /// Probes that are due are asked, and their answers taken; when the next one is.
  void TickProbes(os::MonoTime now) { rounds_.health().Tick(now); }
  os::MonoTime next_probe() const { return rounds_.health().next_due(); }
  /// Nobody is asked any more, and who waits for an answer gives up; no hook is run, nor goes on.
  void StopProbes() {
    rounds_.health().Stop();
    rounds_.hooks().Stop();
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
  guard::PoolGuard& pool() { return guard_.pool(); }
  const keeper::Keeper& keeper() const { return keeper_; }
  const pods::Pods& pods() const { return pods_; }  ///< by uid
  const std::map<std::string, std::string>& files() const {
    return rounds_.manifests().files();
  }  ///< full name -> file
  std::shared_ptr<const Pod> Share(const ManagedPod& managed) const {
    return rounds_.manifests().Share(managed);
  }  ///< as Manifests::Share
  const enforce::Enforcer& groups() const { return groups_; }
  enforce::Enforcer& groups() { return groups_; }
  const runtime::Runtime& runtime() const { return shared_.runtime; }
  const pods::DeviceBook& devices() const { return devices_; }
  const ManagerOptions& options() const { return options_; }
  std::vector<std::string> AddressesOf(const Pod& pod) const { return shared_.AddressesOf(pod); }
  /// What keeps pods from being admitted or started beside a lack of room.
  NodeConditions Conditions() const;
  /// Changes whenever pods, conditions or warnings may have.
  std::uint64_t turns() const { return turns_; }
  /// Things an operator should know now (ledger not saved, cgroups not written), a sentence each.
  std::vector<std::string> Warnings() const;

 private:
  void Work(os::MonoTime now, const os::Slice& slice);

  ManagerOptions options_;
  keeper::Keeper keeper_;
  enforce::Enforcer groups_;
  pods::Agenda agenda_;
  pods::Pods pods_;
  pods::Records records_;
  pods::Lives lives_;
  pods::DocumentBook documents_;
  pods::DeviceBook devices_;
  pods::Parts shared_;  // all of the above, for the parts below
  pods::HeldDevices held_devices_;
  takeover::Takeover takeover_;
  guard::Guard guard_;
  pods::Rounds rounds_;
  Reconciler reconciler_;
  std::uint64_t turns_ = 0;
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_POD_MANAGER_H_
