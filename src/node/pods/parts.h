// Shared dependencies of everything that drives pods.
#ifndef BERTH_NODE_PODS_PARTS_H_
#define BERTH_NODE_PODS_PARTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "host/cgroup/cgroup.h"
#include "host/event_loop/executor.h"
#include "host/os/clock.h"
#include "host/os/work_notes.h"
#include "node/cgroup_manager/enforcer.h"
#include "node/ledger/node_allocations.h"
#include "node/pods/agenda.h"
#include "node/pods/container_status_cache.h"
#include "node/pods/device_book.h"
#include "node/pods/documents.h"
#include "node/pods/managed_pod.h"
#include "node/pods/node_rules.h"
#include "node/pods/pod_checkpoints.h"
#include "node/pods/volumes.h"
#include "runtime/lifecycle/env.h"
#include "runtime/lifecycle/runtime.h"
#include "telemetry/events/event_log.h"

namespace berth::pods {

struct PodOptions {
  std::string node_name;
  std::vector<std::string> node_addresses;  ///< the first is its hostIP
  ResourceList storage;                     ///< allocatable of what the engine does not know of
  NodeRules rules;
  VolumeFolders volumes;
  std::string log_dir;           ///< containers log to <log_dir>/<namespace>_<name>_<uid>/<container>/<attempt>.log
  bool seccomp_default = false;  ///< who names no profile gets RuntimeDefault
  std::uint64_t log_max_bytes = 10U << 20;
  int log_max_files = 5;
  std::string pool;         ///< folder of node/pods/mixed_cpus.h; "": nobody is told of the shared pool
  std::string checkpoints;  ///< folder of node/pods/pod_checkpoints.h; "": no time outlives this berthd
  /// File, of this boot, of the settings that the values of groups follow (cgroup::SettingsText); "": they always do.
  std::string value_settings;
  os::WorkNotes* work_notes = nullptr;  ///< keep pods that berthd died of from being tried again; outlives the pods
  allocator::QueueRules queue;
  bool eviction_ignores_cache = false;  ///< page cache that can be dropped counts as free (rules/eviction#figures)
  std::string notes;  ///< folder of frontend/static_pods/pod_folder_index.h; "": nothing is noted, and nothing of
                      ///< earlier pods removed
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
  DocumentBook& documents;
  DeviceBook& devices;

  std::string ObjectOfNode() const { return "node/" + options.node_name; }
  std::string LogFolder(const Pod& pod) const;
  bool IsInNodesNetwork(const Pod& pod) const { return pod.host_network || !runtime.makes_groups(); }
  /// Of the pod: the runtime's, or the node's where it shares its network. Empty: not known yet.
  std::vector<std::string> AddressesOf(const Pod& pod) const;
  /// What its containers may ask for.
  runtime::NodeFacts FactsFor(const Pod& pod) const;
  /// Nothing of the host is touched.
  bool DryRun() const { return options.notes.empty() && !runtime.makes_groups(); }
  /// Of working out a pod's place and its containers' requests, which nothing but the pod itself can make costly.
  std::string WorkKey(const Pod& pod) const;
  bool IsSetAside(const Pod& pod) const;
  /// For a pod that starts now.
  runtime::PodLifecycle NewLifecycle(const Pod& pod) const;
  /// Tells the pod's lifecycle what was known before it, from the runtime and from an earlier berthd.
  void Recover(ManagedPod& managed, os::MonoTime now) const;
  /// Notes what the next berthd goes on with, should this one be killed. Requires: it has a lifecycle.
  void Keep(ManagedPod& managed) const;
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
