// Resizes of pods that run: decided, recorded, put in force.
//
//   kNew         -> decided -> kDeferred, kInfeasible: nothing has changed; decided again when something was given back
//                           -> saved -> kInProgress
//   kInProgress  -> containers that have to are ended, and start anew; the others' groups get their values when the
//                   pool is in force -> done
//
// CPUs need no steps of their own: the pool reconciler puts every change of the ledger in force, what shrinks first.
#ifndef BERTH_FRONTEND_STATIC_PODS_RESIZER_H_
#define BERTH_FRONTEND_STATIC_PODS_RESIZER_H_

#include <optional>
#include <string>
#include <utility>

#include "frontend/static_pods/pod_queue.h"
#include "frontend/static_pods/static_pod_context.h"
#include "model/pod_view.h"
#include "node/core/node_core.h"

namespace berth::pods {

/// What people are told of it; nullopt: the pod is as its manifest wants it.
std::optional<ResizeView> ResizeOf(const ManagedPod& managed);

/// Thread: the loop's only.
class Resizer {
 public:
  /// Both outlive it.
  Resizer(StaticPodContext& context, const Queue& queue) : context_(context), node_(context.node()), queue_(queue) {}

  /// Does what is due for the pod.
  void Look(ManagedPod& managed, os::MonoTime now);

 private:
  bool NoteAllocated(ManagedPod& managed, os::MonoTime now) const;
  bool MayDecide(PendingResize& resize, os::MonoTime now) const;
  void Decide(ManagedPod& managed, os::MonoTime now);
  void Refuse(ManagedPod& managed, PendingResize::State state, Why why, os::MonoTime now) const;
  std::string WhoComesFirst(const ManagedPod& managed, const LedgerDelta& resize) const;
  std::string WhatIsInUse(const ManagedPod& managed) const;
  void Saved(ManagedPod& managed, const Pod& pod, const Result<void>& saved);
  bool Restarted(ManagedPod& managed, os::MonoTime now) const;
  void PutInForce(ManagedPod& managed, os::MonoTime now);
  void TellRuntime(const Pod& pod) const;

  StaticPodContext& context_;
  core::Node& node_;
  const Queue& queue_;
};

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_RESIZER_H_
