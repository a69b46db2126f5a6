// Pod manager, without the loop: when the node core is reconciled, and Berth's own pods are driven.
// Design: docs/design/daemon.md.
//
// Level-triggered: whatever happened, Sync compares what is wanted, what the ledger holds and what runs, and does the
// next steps. Everything that fails is tried again by a later Sync, so that the order below holds through any failure:
//
//   admit    decide -> ledger saved -> shared pool shrunk -> cgroups made and checked -> containers started
//   release  containers ended -> their cgroups seen empty, removed -> ledger saved -> shared pool grown
#ifndef BERTH_DAEMON_POD_MANAGER_H_
#define BERTH_DAEMON_POD_MANAGER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/loop_thread.h"
#include "base/result.h"
#include "daemon/periodic_checks.h"
#include "frontend/pod_sources/source.h"
#include "frontend/static_pods/static_pod_context.h"
#include "frontend/static_pods/sync_loop.h"
#include "host/os/clock.h"
#include "node/checkpoint/store.h"
#include "node/core/node_core.h"

namespace berth::daemon {

using pods::ManagedPod;

/// Thread: the loop's only. Times given must not go backwards.
class PodManager {
 public:
  /// Node and executors outlive it. None of the executors' ends may come when it is gone.
  PodManager(core::Node& node, pods::StaticPodOptions options, const pods::PodExecutors& executors);

  /// As core::Node::Recover. Nothing is started or removed before the first snapshot.
  Result<void> Start(const std::optional<checkpoint::Saved>& saved, os::MonoTime now) BERTH_REQUIRES(loop_thread);

  /// The source has something new.
  void OnSnapshot(pod_sources::Snapshot snapshot) BERTH_REQUIRES(loop_thread);
  /// The runtime has something new (asks Poll).
  void OnRuntime(os::MonoTime now) BERTH_REQUIRES(loop_thread);
  /// Device plug-ins have something new.
  void OnDevices() BERTH_REQUIRES(loop_thread);
  /// Plug-ins that did not come back are given up then.
  os::MonoTime next_forgetting() const;
  void ForgetPlugins(os::MonoTime now) BERTH_REQUIRES(loop_thread);
  /// The kernel says that memory runs short.
  void OnMemoryPressure(os::MonoTime now) BERTH_REQUIRES(loop_thread);
  /// All pods are to be looked at (again): that is due at once.
  void Sync() BERTH_REQUIRES(loop_thread) { sync_loop_.Begin(); }
  /// Does what is due at `now`, a slice of it at most; cheap when that is only a look at the kernel's cpusets. What is
  /// left is due at once.
  void Tick(os::MonoTime now) BERTH_REQUIRES(loop_thread);
  /// When Tick has to be called even if nothing happens.
  os::MonoTime next_due() const;

  /// Probes that are due are asked, and their answers taken; when the next one is.
  void TickProbes(os::MonoTime now) BERTH_REQUIRES(loop_thread) { sync_loop_.health().Tick(now); }
  os::MonoTime next_probe() const { return sync_loop_.health().next_due(); }
  /// Nobody is asked any more, and who waits for an answer gives up; no hook is run, nor goes on.
  void StopProbes() BERTH_REQUIRES(loop_thread) {
    sync_loop_.health().Stop();
    sync_loop_.hooks().Stop();
  }

  /// As pods::RestartContainers.
  Result<std::vector<std::string>> Restart(const std::string& uid, os::MonoTime now) BERTH_REQUIRES(loop_thread);

  /// Ends every pod, as if all manifests were gone. idle() tells when it is done.
  void StopAll() BERTH_REQUIRES(loop_thread);
  /// No pod holds anything, nothing runs, and nothing is being saved.
  bool idle() const;
  /// As core::Node::Reload.
  void Reload(os::Millis reconcile_period, bool adopt_unknown) BERTH_REQUIRES(loop_thread);

  const core::Node& node() const { return node_; }
  const pods::StaticPodContext& static_pods() const { return sync_loop_.context(); }
  const std::map<std::string, std::string>& files() const {
    return sync_loop_.manifests().files();
  }  ///< full name -> file
  /// As Manifests::storage.
  std::shared_ptr<const std::string> storage() const { return sync_loop_.manifests().storage(); }
  std::size_t held_bytes() const { return sync_loop_.manifests().held_bytes(); }  ///< likewise
  std::shared_ptr<const Pod> Share(const ManagedPod& managed) const {
    return sync_loop_.manifests().Share(managed);
  }  ///< as Manifests::Share
  allocator::QueueNow WhoWaits() const { return sync_loop_.queue().Now(); }
  /// Changes whenever pods, conditions or warnings may have.
  std::uint64_t turns() const { return turns_; }
  /// Things an operator should know now (ledger not saved, cgroups not written), a sentence each.
  std::vector<std::string> Warnings() const;

 private:
  void Work(os::MonoTime now, const os::Slice& slice) BERTH_REQUIRES(loop_thread);

  core::Node& node_;
  pods::SyncLoop sync_loop_;
  PeriodicChecks periodic_checks_;
  std::uint64_t turns_ = 0;
};

}  // namespace berth::daemon

#endif  // BERTH_DAEMON_POD_MANAGER_H_
