// Shared dependencies of everything that works with pods of the node: the parts of the node core.
#ifndef BERTH_NODE_PODS_PARTS_H_
#define BERTH_NODE_PODS_PARTS_H_

#include <map>
#include <string>
#include <utility>

#include "host/cgroup/cgroup.h"
#include "host/event_loop/executor.h"
#include "host/os/clock.h"
#include "node/cgroup_manager/enforcer.h"
#include "node/ledger/node_allocations.h"
#include "node/pods/agenda.h"
#include "node/pods/container_status_cache.h"
#include "node/pods/device_book.h"
#include "node/pods/managed_pod.h"
#include "node/pods/pod_checkpoints.h"
#include "runtime/lifecycle/runtime.h"
#include "telemetry/events/event_log.h"

namespace berth::pods {

struct PodOptions {
  std::string node_name;
  std::string pool;         ///< folder of node/pods/mixed_cpus.h; "": nobody is told of the shared pool
  std::string checkpoints;  ///< folder of node/pods/pod_checkpoints.h; "": no time outlives this berthd
  /// File, of this boot, of the settings that the values of groups follow (cgroup::SettingsText); "": they always do.
  std::string value_settings;
  bool eviction_ignores_cache = false;  ///< page cache that can be dropped counts as free (rules/eviction#figures)
};

using Pods = std::map<std::string, ManagedPod>;  ///< by uid

/// All outlive whoever holds this. Thread: the loop's only.
struct Parts {
  ledger::NodeAllocations& allocations;
  cgroup_manager::Enforcer& groups;
  cgroup::Tree& tree;
  runtime::Runtime& runtime;
  events::EventLog& events;
  const os::Clock& clock;
  event_loop::Executor& executor;
  const PodOptions& options;
  Agenda& agenda;
  Pods& pods;
  ContainerStatusCache& records;
  PodCheckpoints& checkpoints;
  DeviceBook& devices;

  std::string ObjectOfNode() const { return "node/" + options.node_name; }
  /// Tells the pod's lifecycle what was known before it, from the runtime and from an earlier berthd.
  void Recover(ManagedPod& managed, os::MonoTime now) const;
};

/// Commits a proposal about the pod: it is `saving` until then, and `then(ManagedPod&, saved)` is called when that pod
/// is still known. Nothing is done when others were committed since; to be proposed again.
template <class Then>
void CommitFor(const Parts& parts, ManagedPod& managed, ledger::Proposal proposal, Then then) {
  managed.saving = parts.allocations.Commit(
      std::move(proposal),
      [&pods = parts.pods, &agenda = parts.agenda, uid = managed.pod.uid, then = std::move(then)](const auto& saved) {
        agenda.WakeNow();
        const auto found = pods.find(uid);
        if (found == pods.end()) return;
        found->second.saving = false;
        then(found->second, saved);
      });
  if (!managed.saving) parts.agenda.WakeNow();
}

}  // namespace berth::pods

#endif  // BERTH_NODE_PODS_PARTS_H_
