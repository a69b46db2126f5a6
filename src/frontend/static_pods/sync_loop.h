// Sync loop of pods: all of them looked at until nothing moves, in slices between which the loop serves others.
#ifndef BERTH_FRONTEND_STATIC_PODS_SYNC_LOOP_H_
#define BERTH_FRONTEND_STATIC_PODS_SYNC_LOOP_H_

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "frontend/static_pods/driver.h"
#include "frontend/static_pods/manifests.h"
#include "frontend/static_pods/pod_admission.h"
#include "frontend/static_pods/pod_cleanup.h"
#include "frontend/static_pods/resizer.h"
#include "frontend/static_pods/runtime_events.h"
#include "frontend/static_pods/static_pod_context.h"
#include "frontend/static_pods/volume_reconciler.h"
#include "host/event_loop/executor.h"
#include "node/core/node_core.h"

namespace berth::pods {

/// Threads that wait for others.
struct PodExecutors {
  event_loop::Executor& probes;   ///< asks containers how they are
  event_loop::Executor& hooks;    ///< runs what they want done at their start and end
  event_loop::Executor& plugins;  ///< asks device plug-ins
};

/// A round: manifests compared with pods, the shared pool put in force, what is due for each pod done, new pods
/// decided. A round in which something moved is followed by another one.
///
/// Thread: the loop's only.
class SyncLoop {
 public:
  /// Node and executors outlive it. None of the executors' ends may come when it is gone.
  SyncLoop(core::Node& node, StaticPodOptions options, const PodExecutors& executors);

  /// Something happened: all pods are to be looked at (once more).
  void Begin() { again_ = true; }
  /// Goes on with rounds. False: there is more to do, but the slice is over; what was done is not done again. Agenda
  /// has what is due later when it returns true.
  bool Work(os::MonoTime now, const os::Slice& slice);
  /// There is more to do at once.
  bool working() const { return again_ || phase_ != Phase::kNone; }

  const StaticPodContext& context() const { return context_; }
  Manifests& manifests() { return manifests_; }
  const Manifests& manifests() const { return manifests_; }
  RuntimeEvents& runtime_events() { return runtime_events_; }
  const RuntimeEvents& runtime_events() const { return runtime_events_; }
  PodCleanup& cleanup() { return cleanup_; }
  VolumeReconciler& volumes() { return volumes_; }
  Health& health() { return health_; }
  const Health& health() const { return health_; }
  Hooks& hooks() { return driver_.hooks(); }
  const Queue& queue() const { return admission_.queue(); }

 private:
  enum class Phase { kNone, kApplying, kDriving, kTakingIn, kAdmitting };
  using Moved = std::pair<std::uint64_t, std::size_t>;  // the ledger's revision, number of pods

  Moved Count() const { return {node_.allocations().ledger().revision, node_.pods().size()}; }
  void StartRound(os::MonoTime now);
  bool DriveAll(os::MonoTime now, const os::Slice& slice);
  void TakeIn();
  void AddRejected(os::MonoTime now);
  bool AdmitAll(os::MonoTime now, const os::Slice& slice);
  void DecideOne(ManagedPod& managed, os::MonoTime now);
  void EndRound();

  StaticPodContext context_;
  core::Node& node_;
  Manifests manifests_;
  RuntimeEvents runtime_events_;
  DeviceGrants grants_;
  Admission admission_;
  Health health_;
  Driver driver_;
  Resizer resizer_;
  PodCleanup cleanup_;
  VolumeReconciler volumes_;

  bool again_ = false;
  Phase phase_ = Phase::kNone;
  Moved before_;                  // at the round's begin
  int rounds_ = 0;                // in a row in which something moved
  std::string done_;              // kDriving: uid of the last pod that is done; "": none is
  std::deque<std::string> wait_;  // kAdmitting: uids of those to decide
  os::MonoTime reconsider_at_{};  // rejected pods are decided again from then on, if anything was given back
};

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_SYNC_LOOP_H_
