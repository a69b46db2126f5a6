// Pods that wait for room: their order, who may be admitted past them, and for whom others have to go.
#ifndef BERTH_FRONTEND_STATIC_PODS_POD_QUEUE_H_
#define BERTH_FRONTEND_STATIC_PODS_POD_QUEUE_H_

#include <string>

#include "allocator/engine.h"
#include "frontend/static_pods/static_pod_context.h"
#include "model/explanation.h"
#include "model/ledger.h"
#include "model/pod.h"

namespace berth::pods {

/// The queue is every rejected pod with a place (Rejected::place), in the order and with the claims of allocator::Line.
///
/// Thread: the loop's only.
class Queue {
 public:
  /// `context` outlives this.
  explicit Queue(const StaticPodContext& context)
      : context_(context), node_(context.node()), line_(context.options().queue.overtakes) {}

  /// Pods that wait.
  int size() const;
  /// All other pods than `managed` (nullptr: all), for allocator::DecideWithoutPlace.
  allocator::Others OthersThan(const ManagedPod* managed) const;
  /// As a value, for who explains what would become of a pod.
  allocator::QueueNow Now() const;
  /// "namespace/name" of the pod whose claim an admission stands in the way of; "": nobody's.
  std::string WhoComesFirst(const ManagedPod& managed, const LedgerDelta& admission) const;
  /// A pod that was not there gets a place: it overtakes the first one, unless it is that. Who waits is decided again:
  /// it may have made another's hints better.
  void Overtakes(const ManagedPod& managed);
  /// Gives everybody in the queue his place. A claim that is over lets others be decided again.
  void Number();

  /// What these pods give back is for `managed`, and who would take it is not admitted.
  void Reserve(const ManagedPod& managed, const Removal& victims);

 private:
  /// It waits in the queue, or for what others are giving back.
  const Pod* FindWaiting(const std::string& uid) const;

  const StaticPodContext& context_;
  core::Node& node_;
  allocator::Line line_;
};

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_POD_QUEUE_H_
