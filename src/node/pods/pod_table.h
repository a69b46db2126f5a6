// Pod table: the pods of the node by uid, what is known of their containers, and when they are worked on next.
#ifndef BERTH_NODE_PODS_POD_TABLE_H_
#define BERTH_NODE_PODS_POD_TABLE_H_

#include <map>
#include <string>
#include <utility>

#include "host/os/clock.h"
#include "node/ledger/node_allocations.h"
#include "node/pods/agenda.h"
#include "node/pods/container_status_cache.h"
#include "node/pods/managed_pod.h"
#include "node/pods/pod_checkpoints.h"
#include "runtime/lifecycle/runtime.h"

namespace berth::pods {

struct PodOptions {
  std::string node_name;
  std::string pool;         ///< folder of node/pods/mixed_cpus.h; "": nobody is told of the shared pool
  std::string checkpoints;  ///< folder of node/pods/pod_checkpoints.h; "": no time outlives this berthd
  /// File, of this boot, of the settings that the values of groups follow (cgroup::SettingsText); "": they always do.
  std::string value_settings;
};

using Pods = std::map<std::string, ManagedPod>;  ///< by uid

/// Thread: the loop's only.
class PodTable {
 public:
  /// `runtime` and `clock` outlive this.
  PodTable(PodOptions options, std::string boot_id, runtime::Runtime& runtime, const os::Clock& clock)
      : options_(std::move(options)),
        statuses_(runtime, clock),
        checkpoints_(options_.checkpoints, std::move(boot_id)) {}
  PodTable(const PodTable&) = delete;
  PodTable& operator=(const PodTable&) = delete;

  const PodOptions& options() const { return options_; }
  Pods& pods() { return pods_; }
  const Pods& pods() const { return pods_; }
  Agenda& agenda() { return agenda_; }
  const Agenda& agenda() const { return agenda_; }
  ContainerStatusCache& statuses() { return statuses_; }
  PodCheckpoints& checkpoints() { return checkpoints_; }

  /// Tells the pod's lifecycle what was known before it, from the runtime and from an earlier berthd.
  void RestoreLifecycle(ManagedPod& managed, os::MonoTime now) const;

  /// Commits a proposal about the pod: it is `saving` until then, and `then(ManagedPod&, saved)` is called when that
  /// pod is still known. Nothing is done when others were committed since; to be proposed again.
  template <class Then>
  void Commit(ledger::NodeAllocations& allocations, ManagedPod& managed, ledger::Proposal proposal, Then then) {
    managed.saving = allocations.Commit(
        std::move(proposal), [this, uid = managed.pod.uid, then = std::move(then)](const Result<void>& saved) {
          agenda_.WakeNow();
          const auto found = pods_.find(uid);
          if (found == pods_.end()) return;
          found->second.saving = false;
          then(found->second, saved);
        });
    if (!managed.saving) agenda_.WakeNow();
  }

 private:
  PodOptions options_;
  Pods pods_;
  Agenda agenda_;
  ContainerStatusCache statuses_;
  PodCheckpoints checkpoints_;
};

}  // namespace berth::pods

#endif  // BERTH_NODE_PODS_POD_TABLE_H_
