// Containers of pods, step by step as their lifecycles name them: started, asked to end, killed.
#ifndef BERTH_PODS_DRIVER_H_
#define BERTH_PODS_DRIVER_H_

#include <functional>
#include <string>
#include <utility>

#include "pods/container_starter.h"
#include "pods/device_plugin_calls.h"
#include "pods/health.h"
#include "pods/hooks.h"
#include "pods/intake.h"
#include "pods/last_words.h"
#include "pods/parts.h"

namespace berth::pods {

/// Thread: the loop's only.
class Driver {
 public:
  /// `pool_in_force`: the kernel keeps everybody else off exclusive CPUs; while it is false, no container with CPUs of
  /// its own is started. `hooks` runs what containers want done at their start and end. All outlive this.
  Driver(const Parts& parts, Intake& intake, Health& health, DeviceGrants& grants, loop::Executor& hooks,
         std::function<bool()> pool_in_force);
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// Does what is due for the pod. False: not all of it, because the slice is over; to be called again.
  bool Drive(ManagedPod& managed, os::MonoTime now, const os::Slice& slice);
  Hooks& hooks() { return hooks_; }
  /// The pod is gone.
  void Forget(const std::string& uid) { last_words_.Forget(uid); }

 private:
  void TakeDocuments(ManagedPod& managed) const;
  bool DriveOn(ManagedPod& managed, os::MonoTime now, const os::Slice& slice);
  void TellOverdue(const ManagedPod& managed, bool before);
  void Keep(ManagedPod& managed);
  bool IsDriven(const ManagedPod& managed) const;
  bool Postponed(const ManagedPod& managed, const runtime::Action& action) const;
  bool Perform(ManagedPod& managed, const runtime::Action& action, os::MonoTime now);
  bool Start(ManagedPod& managed, const runtime::Action& action, os::MonoTime now);
  void NotStarted(ManagedPod& managed, const std::string& container, const Error& why, os::MonoTime now) const;
  void Kill(const ManagedPod& managed, const runtime::Action& action);
  void Stop(ManagedPod& managed, const runtime::Action& action, os::MonoTime now);
  void Ask(ManagedPod& managed, const std::string& container, const std::string& id, bool before, os::MonoTime now);
  void TakeBackInitMemory(const Pod& pod, const std::string& container, os::MonoTime now);

  Parts parts_;
  Intake& intake_;
  Health& health_;
  DeviceGrants& grants_;
  Hooks hooks_;
  LastWords last_words_;
  Starter starter_;
  std::function<bool()> pool_in_force_;
};

}  // namespace berth::pods

#endif  // BERTH_PODS_DRIVER_H_
