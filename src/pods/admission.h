// Decisions about pods: may it run here, and where; what came of it.
#ifndef BERTH_PODS_ADMISSION_H_
#define BERTH_PODS_ADMISSION_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "pods/parts.h"

namespace berth::pods {

/// Thread: the loop's only.
class Admission {
 public:
  /// `pressure` says why a pod may not be admitted now for the sake of the node; "": it may. Who says no sees to it
  /// that the pod is looked at again.
  Admission(const Parts& parts, std::function<std::string(const Pod&)> pressure)
      : parts_(parts), pressure_(std::move(pressure)) {}

  /// Decides a pod that waits. Its place is taken when it is saved; nothing more is done before that.
  void Admit(ManagedPod& managed, os::MonoTime now);
  /// Decides a rejected pod again. One that is admitted now goes on as if it was new, with an event; of one that is
  /// not, only the reasons are the newest. Requires: MayReconsider.
  void Reconsider(ManagedPod& managed, os::MonoTime now);
  /// It was rejected for want of something, and what was given back since may let it in.
  bool MayReconsider(const ManagedPod& managed) const;

 private:
  bool FinishedEarlier(ManagedPod& managed, os::MonoTime now);
  bool MustWait(ManagedPod& managed, os::MonoTime now);
  void Reject(ManagedPod& managed, const berth::Reject& reject, os::MonoTime now);
  void Decided(ManagedPod& managed, const Result<void>& saved);
  std::optional<berth::Reject> WhyNotHere(const ManagedPod& managed) const;
  void NotSaved(Waiting& waiting) const;

  Parts parts_;
  std::function<std::string(const Pod&)> pressure_;
};

}  // namespace berth::pods

#endif  // BERTH_PODS_ADMISSION_H_
