// Startup recovery: the ledger as saved, fitted to the node, or made anew from running containers; pods that are known
// only in part because of that, or that another program started.
#ifndef BERTH_NODE_RECOVERY_STARTUP_RECOVERY_H_
#define BERTH_NODE_RECOVERY_STARTUP_RECOVERY_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/os/clock.h"
#include "node/cgroup_manager/enforcer.h"
#include "node/checkpoint/store.h"
#include "node/ledger/node_allocations.h"
#include "node/pods/pod_table.h"
#include "telemetry/events/event_log.h"

namespace berth::recovery {

/// A pod as far as its ledger record tells: names of containers, QoS class, no commands.
Pod PodFromRecord(const PodRecord& record);

/// What machine this is, and since when: what was saved may be of another.
struct ThisBoot {
  std::string boot_id;
  std::string machine_fingerprint;
};

/// Thread: the loop's only.
class StartupRecovery {
 public:
  /// Puts a manifest behind a pod, on the loop's thread.
  using Claim = std::function<void(pods::ManagedPod&, const Pod&, os::MonoTime)>;

  explicit StartupRecovery(ledger::NodeAllocations& allocations, cgroup_manager::Enforcer& groups, pods::PodTable& pods,
                           events::EventLog& events, const os::Clock& clock)
      : allocations_(allocations), groups_(groups), pods_(pods), events_(events), clock_(clock) {}

  /// Opens the node's allocations: `saved` (nullopt: no ledger) made to fit the node, or anew from what runs.
  /// `statuses`: all that the runtime knows.
  void TakeLedger(const std::optional<checkpoint::Saved>& saved, const ThisBoot& boot,
                  const std::vector<runtime::ContainerStatus>& statuses);
  /// Makes pods of what ledger and runtime hold; no manifest stands behind them yet. Requires: groups were found.
  void TakeRunning(const std::vector<runtime::ContainerStatus>& statuses, os::MonoTime now);
  /// A kubelet runs the pods of now: they are only watched.
  void WatchAll();
  /// Pods found to be another program's, whose last process is gone, give their place back, as pods that ended do.
  void EndForeign(os::MonoTime now);
  /// A manifest stands behind a pod that is known only in part. What runs of it keeps what it has, with the rest of the
  /// record from the manifest; it is claimed once that is saved. When nothing runs any more, it is ended, and decided
  /// like a new pod.
  void Complete(pods::ManagedPod& managed, const Pod& pod, os::MonoTime now, Claim claim);

 private:
  void TakeLost();
  int LastAttempt(const std::string& uid, std::string_view container) const;
  void MakeLedgerAnew(const std::vector<runtime::ContainerStatus>& statuses);
  pods::ManagedPod& AddUnclaimed(Pod pod, os::MonoTime now);
  void AddRecorded(const PodRecord& record, os::MonoTime now);
  bool IsForeign(const PodRecord& record);
  std::vector<std::string> GroupsOfOtherRuntime(const PodRecord& record) const;
  void EndIfOfOtherRuntime(pods::ManagedPod& managed, const PodRecord& record, os::MonoTime now);

  ledger::NodeAllocations& allocations_;
  cgroup_manager::Enforcer& groups_;
  pods::PodTable& pods_;
  events::EventLog& events_;
  const os::Clock& clock_;
};

}  // namespace berth::recovery

#endif  // BERTH_NODE_RECOVERY_STARTUP_RECOVERY_H_
