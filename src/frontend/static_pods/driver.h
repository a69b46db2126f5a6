// Containers of pods, step by step as their lifecycles name them: started, asked to end, killed.
#ifndef BERTH_FRONTEND_STATIC_PODS_DRIVER_H_
#define BERTH_FRONTEND_STATIC_PODS_DRIVER_H_

#include <string>
#include <utility>

#include "frontend/static_pods/container_starter.h"
#include "frontend/static_pods/device_plugin_calls.h"
#include "frontend/static_pods/health.h"
#include "frontend/static_pods/hooks.h"
#include "frontend/static_pods/runtime_events.h"
#include "frontend/static_pods/static_pod_context.h"
#include "frontend/static_pods/termination_messages.h"
#include "node/core/node_core.h"

namespace berth::pods {

/// No container with CPUs of its own is started while the kernel does not keep everybody else off them
/// (PoolReconciler::in_force). Thread: the loop's only.
class Driver {
 public:
  /// `hooks` runs what containers want done at their start and end. All outlive this.
  Driver(StaticPodContext& context, RuntimeEvents& runtime_events, Health& health, DeviceGrants& grants,
         event_loop::Executor& hooks);
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// Does what is due for the pod. False: not all of it, because the slice is over; to be called again.
  bool Drive(ManagedPod& managed, os::MonoTime now, const os::Slice& slice);
  Hooks& hooks() { return hooks_; }
  /// The pod is gone.
  void Forget(const std::string& uid) { termination_messages_.Forget(uid); }

 private:
  void TakeDocuments(ManagedPod& managed) const;
  bool DriveOn(ManagedPod& managed, os::MonoTime now, const os::Slice& slice);
  void TellOverdue(const ManagedPod& managed, bool before);
  bool IsDriven(const ManagedPod& managed) const;
  bool Postponed(const ManagedPod& managed, const runtime::Action& action) const;
  bool Perform(ManagedPod& managed, const runtime::Action& action, os::MonoTime now);
  bool Start(ManagedPod& managed, const runtime::Action& action, os::MonoTime now);
  void NotStarted(ManagedPod& managed, const std::string& container, const Error& why, os::MonoTime now) const;
  void Kill(const ManagedPod& managed, const runtime::Action& action);
  void Stop(ManagedPod& managed, const runtime::Action& action, os::MonoTime now);
  void Ask(ManagedPod& managed, const std::string& container, const std::string& id, bool before, os::MonoTime now);
  void TakeBackInitMemory(const Pod& pod, const std::string& container, os::MonoTime now);

  StaticPodContext& context_;
  core::Node& node_;
  RuntimeEvents& runtime_events_;
  Health& health_;
  DeviceGrants& grants_;
  Hooks hooks_;
  TerminationMessages termination_messages_;
  Starter starter_;
};

}  // namespace berth::pods

#endif  // BERTH_FRONTEND_STATIC_PODS_DRIVER_H_
